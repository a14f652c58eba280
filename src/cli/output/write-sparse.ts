// Writes a disk to a sparse file, which is complete or absent.
import { open, rename, rm } from 'node:fs/promises';
import { ImagoError } from '../../domain/error/imago-error.ts';

export interface SparseOptions {
  /** The expected number of bytes; fewer is an error. */
  readonly sizeBytes: number | undefined;
  readonly onBytes: (bytes: number) => void;
}

/** Returns the number of bytes of the file. */
export async function writeSparse(
  path: string,
  content: AsyncIterable<Uint8Array>,
  { sizeBytes, onBytes }: SparseOptions,
): Promise<number> {
  const fresh = `${path}.${process.pid}.new`;
  const file = await open(fresh, 'wx').catch((cause: unknown) => {
    throw new ImagoError('file-missing', `Cannot write ${path}: ${(cause as Error).message}`, { cause });
  });
  let at = 0;
  try {
    for await (const chunk of content) {
      if (!isZero(chunk)) await writeAt(file, chunk, at);
      at += chunk.byteLength;
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

async function writeAt(file: Awaited<ReturnType<typeof open>>, chunk: Uint8Array, at: number): Promise<void> {
  for (let done = 0; done < chunk.byteLength; ) {
    done += (await file.write(chunk, done, chunk.byteLength - done, at + done)).bytesWritten;
  }
}

const zeros = Buffer.alloc(1024 * 1024);

function isZero(chunk: Uint8Array): boolean {
  return chunk.byteLength <= zeros.length && zeros.subarray(0, chunk.byteLength).equals(chunk);
}

function fullDisk(error: unknown, path: string): unknown {
  if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') return error;
  return new ImagoError('no-space', `There is not enough space for ${path}.`, { cause: error });
}
