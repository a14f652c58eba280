// Reads secrets that node configs reference: one file each, in a directory of the daemon. They are read when a config is
// sent to a provider, and stored nowhere else.
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { ImagoError } from '../../domain/error/imago-error.ts';

const name = /^[a-z0-9][a-z0-9-]{0,62}$/;
const maxBytes = 64 * 1024;

/** Returns `undefined` if there is no such file. Throws `secret-exposed` if other users can read it. */
export function secretReader(folder: string): (secret: string) => Promise<string | undefined> {
  return async (secret) => {
    if (!name.test(secret)) return undefined;
    const file = await openIfThere(join(folder, secret));
    if (file === undefined) return undefined;
    try {
      const { mode, size } = await file.stat();
      if ((mode & 0o077) !== 0) {
        throw new ImagoError('secret-exposed', `Other users can read the secret ${secret}.`, {
          hint: `Run \`chmod 600 ${join(folder, secret)}\`.`,
        });
      }
      if (size > maxBytes) throw new ImagoError('input-invalid', `The secret ${secret} has ${size} bytes.`);
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
