// Puts files in place so that they are complete or absent even after a crash: write all, flush, rename, flush the
// directory. Names the system errors that a user can act on.
import { randomUUID } from 'node:crypto';
import { open, rename, rm, stat } from 'node:fs/promises';
import { basename, dirname } from 'node:path';
import { ImagoError } from '../../domain/error/imago-error.ts';

/** Returns `undefined` for anything that is not a system error. */
export function systemCode(error: unknown): string | undefined {
  if (!(error instanceof Error) || !('code' in error)) return undefined;
  return typeof error.code === 'string' ? error.code : undefined;
}

/** Returns `no-space` for a full disk or quota, and any other error unchanged. */
export function nameFileError(error: unknown, doing = 'writing a disk'): unknown {
  const code = systemCode(error);
  if (code !== 'ENOSPC' && code !== 'EDQUOT') return error;
  return new ImagoError('no-space', `no space is left while ${doing}`, { cause: error });
}

/** Flushes a file or a directory. */
export async function syncPath(path: string): Promise<void> {
  const handle = await open(path, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** Moves a flushed file to its path, and flushes the directory. */
export async function renameDurably(from: string, to: string): Promise<void> {
  await rename(from, to);
  await syncPath(dirname(to));
}

/** Moves a finished file to its path, its bytes first. An existing file is replaced. */
export async function publishFile(finished: string, path: string): Promise<void> {
  await syncPath(finished);
  try {
    await renameDurably(finished, path);
  } catch (cause) {
    throw new ImagoError('input-invalid', `${basename(path)} cannot be put into ${dirname(path)}`, {
      hint: 'The work folder must be on the same file system as the result.',
      cause,
    });
  }
}

/** Replaces `path`, all or nothing. `mode` holds regardless of the umask; `temporary` must be on the same file system. */
export async function writeFileDurably(
  path: string,
  content: string | Uint8Array,
  mode = 0o600,
  temporary = `${path}.${randomUUID()}.new`,
): Promise<void> {
  try {
    const file = await open(temporary, 'wx', mode);
    try {
      await file.writeFile(content);
      await file.chmod(mode);
      await file.sync();
    } finally {
      await file.close();
    }
    await renameDurably(temporary, path);
  } catch (error) {
    await rm(temporary, { force: true });
    throw nameFileError(error, `writing ${path}`);
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
