// Writes a stream to a file so that the file is complete or absent: write next to it, fsync, rename.
import { once } from 'node:events';
import { open, rename, rm } from 'node:fs/promises';
import { ImagoError } from '../../domain/error/imago-error.ts';

/** Writes all chunks to `path` (`-` for standard output) and returns their number of bytes. */
export async function writeAtomically(
  path: string,
  chunks: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  mode = 0o600,
): Promise<number> {
  if (path === '-') return writeOut(chunks);
  const fresh = `${path}.${process.pid}.new`;
  const file = await open(fresh, 'wx', mode).catch((cause: Error) => {
    throw unwritable(path, cause);
  });
  let bytes = 0;
  try {
    for await (const chunk of chunks) {
      await file.writeFile(chunk);
      bytes += chunk.byteLength;
    }
    await file.sync();
    await file.close();
    await rename(fresh, path);
    return bytes;
  } catch (error) {
    await file.close().catch(() => undefined);
    await rm(fresh, { force: true });
    throw error;
  }
}

async function writeOut(chunks: AsyncIterable<Uint8Array> | Iterable<Uint8Array>): Promise<number> {
  let bytes = 0;
  for await (const chunk of chunks) {
    bytes += chunk.byteLength;
    if (!process.stdout.write(chunk)) await once(process.stdout, 'drain');
  }
  return bytes;
}

/** The error of a file or directory that the caller named and that cannot be written. */
export function unwritable(path: string, cause: Error): ImagoError {
  return new ImagoError('file-unwritable', `Cannot write ${path}: ${cause.message}.`, { cause });
}
