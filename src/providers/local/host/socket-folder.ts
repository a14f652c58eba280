// Folders for sockets that the user of the machines makes. That user can put any name there, also while root works in it:
// nothing here follows a link or enters a folder.
import { chmod, chown, mkdir, readdir, rmdir, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import type { ProcessIds } from '../../../host/process/system-user.ts';

/** The folder above belongs to the daemon. A folder that exists is used as it is. */
export async function makeSocketFolder(path: string, ids: ProcessIds | undefined): Promise<void> {
  const made = await mkdir(path, { recursive: true, mode: 0o700 });
  if (made !== undefined && ids !== undefined) await chown(path, ids.uid, ids.gid);
}

/** Makes a folder that belongs to the daemon, and that the user of the machines passes to what is open to it. */
export async function makePassage(path: string, ids: ProcessIds | undefined): Promise<void> {
  await mkdir(path, { recursive: true, mode: 0o700 });
  if (ids !== undefined) await chmod(path, 0o711);
}

/** Removes a folder and the sockets in it. A folder that holds a folder, which no machine needs, stays. */
export async function removeSocketFolder(path: string): Promise<void> {
  for (const name of await readdir(path).catch(() => []))
    await unlink(join(path, name)).catch(() => undefined);
  await rmdir(path).catch(() => undefined);
}
