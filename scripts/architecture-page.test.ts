// Shows that the architecture page names only what exists, and how long the walks are.
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { architecturePage, namedPaths } from './architecture-page.ts';

const file = path.join(import.meta.dirname, '..', 'docs', 'architecture.md');
const page = readFileSync(file, 'utf8');

test('the page is up to date, and every path that it names exists', () => {
  expect(architecturePage(file)).toBe(page);
  expect(namedPaths(page).length).toBeGreaterThan(100);
});

test('a brace group names several paths', () => {
  expect(namedPaths('See `src/a/{b,c/d}.ts` and `src/e`.')).toEqual(['src/a/b.ts', 'src/a/c/d.ts', 'src/e']);
});

test.each([
  ['The spine', 17],
  ['Build', 25],
  ['Promotion', 12],
  ['Boot', 25],
  ['Withdrawal', 20],
])('the walk "%s" has at most %i files, and states their number', (title, most) => {
  const [, section = ''] = page.split(`### ${title}`);
  const [walk = ''] = section.split(/\n##+ /);
  const steps = walk.split('\n').filter((line) => /^\d+\. /.test(line));
  const named = new Set(steps.flatMap(namedPaths));
  expect(walk).toContain(`${named.size} files`);
  expect(named.size).toBeLessThanOrEqual(most);
});
