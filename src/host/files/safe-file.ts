// Small records that must survive a crash: written beside, flushed, then renamed.
import { randomBytes } from 'node:crypto';
import { open, rename, rm } from 'node:fs/promises';

/** `mode` holds regardless of the umask. */
export async function writeFileSafely(path: string, text: string, mode = 0o600): Promise<void> {
  const beside = `${path}.${randomBytes(4).toString('hex')}.new`;
  try {
    const file = await open(beside, 'wx', mode);
    try {
      await file.writeFile(text);
      await file.chmod(mode);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(beside, path);
  } catch (error) {
    await rm(beside, { force: true });
    throw error;
  }
}
