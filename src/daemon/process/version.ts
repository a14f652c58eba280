// The version of this package, read from its package.json; the same from source and from the bundle.
import { readFileSync } from 'node:fs';

let known: string | undefined;

export function packageVersion(): string {
  known ??= readVersion('../package.json') ?? readVersion('../../../package.json') ?? 'unknown';
  return known;
}

function readVersion(path: string): string | undefined {
  try {
    const found = JSON.parse(readFileSync(new URL(path, import.meta.url), 'utf8')) as Record<string, unknown>;
    return found.name === 'imago' && typeof found.version === 'string' ? found.version : undefined;
  } catch {
    return undefined;
  }
}
