// Stores a stream in an unlinked file, so that it can be read twice: once to verify it, once to use it. The file
// disappears when the process exits.
import { randomUUID } from 'node:crypto';
import { open, unlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { ImagoError } from '../../domain/error/imago-error.ts';

export interface Spool {
  readonly size: number;
  /** Returns fewer bytes than requested at the end of the file. */
  read(position: number, length: number): Promise<Buffer>;
  close(): Promise<void>;
}

/** Throws `no-space`, or `file-missing` if the stream itself fails. */
export async function spool(source: Readable, folder = tmpdir()): Promise<Spool> {
  const path = join(folder, `imago-restore-${randomUUID()}`);
  const file = await open(path, 'wx+', 0o600);
  try {
    await unlink(path);
    await file.writeFile(source);
    const { size } = await file.stat();
    return {
      size,
      async read(position, length) {
        const wanted = Math.max(0, Math.min(length, size - position));
        const { bytesRead, buffer } = await file.read(Buffer.alloc(wanted), 0, wanted, position);
        return buffer.subarray(0, bytesRead);
      },
      close: () => file.close(),
    };
  } catch (error) {
    await file.close();
    throw asSpoolError(error as NodeJS.ErrnoException);
  }
}

function asSpoolError(error: NodeJS.ErrnoException): Error {
  if (error instanceof ImagoError || error.name === 'AbortError') return error;
  if (error.code === 'ENOSPC' || error.code === 'EDQUOT') {
    return new ImagoError('no-space', 'There is no room for the backup in the temporary directory.', {
      cause: error,
    });
  }
  return new ImagoError('file-missing', `The backup cannot be read: ${error.message}.`, { cause: error });
}
