// The version in package.json, from source and from the packed package alike.
import { readFile } from 'node:fs/promises';

export async function packageVersion(): Promise<string> {
  for (const up of ['../package.json', '../../package.json']) {
    try {
      const found = JSON.parse(await readFile(new URL(up, import.meta.url), 'utf8')) as {
        name?: string;
        version?: string;
      };
      if (found.name === 'imago' && found.version !== undefined) return found.version;
    } catch {}
  }
  return 'unknown';
}
