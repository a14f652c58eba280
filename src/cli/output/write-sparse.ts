// Writes a disk to a file, with holes where it is zero: whole under its name, or not there at all.
import { open, rename, rm } from 'node:fs/promises';
import { ImagoError } from '../../domain/error/imago-error.ts';

export interface SparseOptions {
  /** What must arrive; less is an error. */
  readonly sizeBytes: number | undefined;
  readonly onBytes: (bytes: number) => void;
}

/** Returns how many bytes the file has. */
export async function writeSparse(
  path: string,
  content: AsyncIterable<Uint8Array>,
  { sizeBytes, onBytes }: SparseOptions,
): Promise<number> {
  const fresh = `${path}.${process.pid}.new`;
  const file = await open(fresh, 'wx').catch((cause: unknown) => {
    throw new ImagoError('file-missing', `${path} cannot be written: ${(cause as Error).message}`, { cause });
  });
  let at = 0;
  try {
    for await (const piece of content) {
      if (!isZero(piece)) await writeAt(file, piece, at);
      at += piece.byteLength;
      onBytes(at);
    }
    if (sizeBytes !== undefined && at !== sizeBytes) {
      throw new ImagoError('daemon-connection-lost', `Only ${at} of ${sizeBytes} bytes arrived.`);
    }
    await file.truncate(at);
    await file.sync();
    await file.close();
    await rename(fresh, path);
    return at;
  } catch (error) {
    await file.close().catch(() => undefined);
    await rm(fresh, { force: true });
    throw fullDisk(error, path);
  }
}

async function writeAt(file: Awaited<ReturnType<typeof open>>, piece: Uint8Array, at: number): Promise<void> {
  for (let done = 0; done < piece.byteLength; ) {
    done += (await file.write(piece, done, piece.byteLength - done, at + done)).bytesWritten;
  }
}

const zeros = Buffer.alloc(1024 * 1024);

function isZero(piece: Uint8Array): boolean {
  return piece.byteLength <= zeros.length && zeros.subarray(0, piece.byteLength).equals(piece);
}

function fullDisk(error: unknown, path: string): unknown {
  if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') return error;
  return new ImagoError('no-space', `There is no room for ${path}.`, { cause: error });
}
