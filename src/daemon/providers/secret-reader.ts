// Secrets that node configs name: files in a folder of the daemon's own, one each. They are read when a config goes
// to a provider, and kept nowhere else.
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { ImagoError } from '../../domain/error/imago-error.ts';

const name = /^[a-z0-9][a-z0-9-]{0,62}$/;
const longest = 64 * 1024;

/** `undefined` when there is no such file. Throws `secret-exposed` for one that others can read. */
export function secretReader(folder: string): (secret: string) => Promise<string | undefined> {
  return async (secret) => {
    if (!name.test(secret)) return undefined;
    const file = await openIfThere(join(folder, secret));
    if (file === undefined) return undefined;
    try {
      const { mode, size } = await file.stat();
      if ((mode & 0o077) !== 0) {
        throw new ImagoError('secret-exposed', `Others can read the secret ${secret}.`, {
          hint: `Close it: chmod 600 ${join(folder, secret)}`,
        });
      }
      if (size > longest) throw new ImagoError('input-invalid', `The secret ${secret} has ${size} bytes.`);
      return await file.readFile('utf8');
    } finally {
      await file.close();
    }
  };
}

async function openIfThere(path: string) {
  try {
    return await open(path, 'r');
  } catch (thrown) {
    if (thrown instanceof Error && 'code' in thrown && thrown.code === 'ENOENT') return undefined;
    throw thrown;
  }
}
