// Keeps a stream in a file without a name, so that it can be read twice: once to see that it is whole, once to use
// it. However the process ends, nothing of it is left.
import { randomUUID } from 'node:crypto';
import { type FileHandle, open, unlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { ImagoError } from '../../domain/error/imago-error.ts';

export interface Spool {
  /** From the beginning, each time. */
  read(): Readable;
  close(): Promise<void>;
}

const chunkBytes = 256 * 1024;

/** Throws `no-space`, or `file-missing` when the stream itself fails. */
export async function spool(source: Readable, folder = tmpdir()): Promise<Spool> {
  const path = join(folder, `imago-restore-${randomUUID()}`);
  const file = await open(path, 'wx+', 0o600);
  try {
    await unlink(path);
    await file.writeFile(source);
  } catch (error) {
    await file.close();
    throw asSpoolError(error as NodeJS.ErrnoException);
  }
  return {
    read: () => Readable.from(chunks(file), { objectMode: false }),
    close: () => file.close(),
  };
}

async function* chunks(file: FileHandle): AsyncGenerator<Uint8Array> {
  for (let position = 0; ; ) {
    const { bytesRead, buffer } = await file.read(Buffer.alloc(chunkBytes), 0, chunkBytes, position);
    if (bytesRead === 0) return;
    position += bytesRead;
    yield buffer.subarray(0, bytesRead);
  }
}

function asSpoolError(error: NodeJS.ErrnoException): Error {
  if (error instanceof ImagoError || error.name === 'AbortError') return error;
  if (error.code === 'ENOSPC' || error.code === 'EDQUOT') {
    return new ImagoError('no-space', 'There is no room to unpack the backup.', { cause: error });
  }
  return new ImagoError('file-missing', `The backup cannot be read: ${error.message}.`, { cause: error });
}
