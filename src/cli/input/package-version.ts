// Reads the version in package.json, and finds files next to it, both from source and in the packed package.
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';

const places = ['../', '../../../'];

/** Returns the path of a file of the package; `undefined` if it does not exist. */
export function packageFile(name: string): string | undefined {
  return places.map((up) => fileURLToPath(new URL(up + name, import.meta.url))).find(existsSync);
}

export async function packageVersion(): Promise<string> {
  for (const up of places) {
    try {
      const found = JSON.parse(await readFile(new URL(`${up}package.json`, import.meta.url), 'utf8')) as {
        name?: string;
        version?: string;
      };
      if (found.name === 'imago' && found.version !== undefined) return found.version;
    } catch {}
  }
  return 'unknown';
}
