// The client starts quickly because it loads no schemas: their types are all that it needs.
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { readImports } from '../../scripts/read-imports.ts';
import { readTokens } from '../../scripts/read-tokens.ts';

/** Everything that is loaded with the file, followed through the files of the project. */
function loadedWith(file: string, seen = new Set<string>()): ReadonlySet<string> {
  if (seen.has(file)) return seen;
  seen.add(file);
  for (const { from, kind } of readImports(readTokens(readFileSync(file, 'utf8')))) {
    if (from === undefined || kind === 'type') continue;
    if (from.startsWith('.')) loadedWith(join(dirname(file), from), seen);
    else seen.add(from);
  }
  return seen;
}

test('the client loads neither zod nor any other package', () => {
  const loaded = [...loadedWith(join(import.meta.dirname, 'client.ts'))];
  expect(loaded.filter((from) => !from.startsWith('/') && !from.startsWith('node:'))).toEqual([]);
  expect(loaded.some((from) => from.endsWith('error-catalogue.ts'))).toBe(true);
  expect(loaded.length).toBeLessThan(15);
});
