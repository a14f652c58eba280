// The file operations that make a store safe: write all, flush, rename, flush the directory; and system errors as
// Imago errors.
import { type FileHandle, open, rename, rm, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { ImagoError } from '../../domain/error/imago-error.ts';

/** `undefined` for anything that is not an error of the system. */
export function systemCode(error: unknown): string | undefined {
  if (!(error instanceof Error) || !('code' in error)) return undefined;
  return typeof error.code === 'string' ? error.code : undefined;
}

/** Names a full disk as such; everything else passes as it is. */
export function storeError(error: unknown, doing: string): unknown {
  const code = systemCode(error);
  if (code === 'ENOSPC' || code === 'EDQUOT') {
    return new ImagoError('no-space', `no space is left while ${doing}`, { cause: error });
  }
  return error;
}

export async function syncFolder(path: string): Promise<void> {
  const handle = await open(path, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** Moves a file that is already flushed to its place, and flushes the folder. */
export async function renameDurably(from: string, to: string): Promise<void> {
  await rename(from, to);
  await syncFolder(dirname(to));
}

/** Replaces `path` by `bytes`, all or nothing. `temporary` must be on the same file system. */
export async function writeFileDurably(
  path: string,
  temporary: string,
  bytes: Uint8Array,
  mode = 0o666,
): Promise<void> {
  let handle: FileHandle | undefined;
  try {
    handle = await open(temporary, 'w', mode);
    await handle.writeFile(bytes);
    await handle.sync();
    await handle.close();
    handle = undefined;
    await renameDurably(temporary, path);
  } catch (error) {
    await handle?.close();
    await rm(temporary, { force: true });
    throw storeError(error, `writing ${path}`);
  }
}

export async function fileSize(path: string): Promise<number | undefined> {
  try {
    return (await stat(path)).size;
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return undefined;
    throw error;
  }
}
