// Finds the files of this package, from source and from the bundle, and its version.
import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const roots = ['../', '../../'];

/** Returns the path of a file of the package; `undefined` if it does not exist. */
export function packageFile(name: string): string | undefined {
  return roots.map((up) => fileURLToPath(new URL(up + name, import.meta.url))).find(existsSync);
}

let known: string | undefined;

export function packageVersion(): string {
  known ??= roots.map(readVersion).find((version) => version !== undefined) ?? 'unknown';
  return known;
}

function readVersion(root: string): string | undefined {
  try {
    const url = new URL(`${root}package.json`, import.meta.url);
    const found = JSON.parse(readFileSync(url, 'utf8')) as Record<string, unknown>;
    return found.name === 'imago' && typeof found.version === 'string' ? found.version : undefined;
  } catch {
    return undefined;
  }
}
