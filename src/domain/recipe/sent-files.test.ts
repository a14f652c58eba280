import { describe, expect, test } from 'vitest';
import type { Recipe } from './recipe.ts';
import { recipeSchema } from './schema.ts';
import { pathsToSend, type SentEntry, sentList } from './sent-files.ts';

const sha256 = 'a'.repeat(64);
const file = (path: string): SentEntry => ({ type: 'file', path, sha256, sizeBytes: 1 });
const link = (path: string, to: string): SentEntry => ({ type: 'link', path, to });
const accepts = (...entries: SentEntry[]) => sentList.safeParse({ folder: '', entries }).success;

describe('a list of files', () => {
  test('has directories, files, and links that stay inside', () => {
    expect(accepts(file('a/b'), link('a/c', 'b'), link('a/d', '../e'), link('f', './a/b'))).toBe(true);
    expect(accepts({ type: 'directory', path: 'a' }, file('a/b'), file('b..c'))).toBe(true);
  });

  test.each([
    '/etc/passwd',
    '../x',
    'a/../../x',
    'a/./b',
    'a//b',
    '',
    '.',
    'a/',
    'a\0b',
    'a\n/../../x',
    'a/..\u2028/../x',
  ])('has no path %j', (path) => expect(accepts(file(path))).toBe(false));

  test('has no path of so many directories that checking a list would stop the daemon', () => {
    expect(accepts(file(`${'a/'.repeat(63)}a`))).toBe(true);
    expect(accepts(file(`${'a/'.repeat(64)}a`))).toBe(false);
  });

  test.each([
    ['d', '/etc'],
    ['d', '..'],
    ['a/d', '../../etc'],
    // Where `s` leads up, its `..` would leave the list.
    ['d', 's/../x'],
  ])('has no link %s -> %s', (path, to) => expect(accepts(link(path, to))).toBe(false));

  test('has nothing below a link or a file, and no path twice', () => {
    expect(accepts(link('d', 'e'), file('d/cron'))).toBe(false);
    expect(accepts(file('d'), file('d/x/cron'))).toBe(false);
    expect(accepts(file('d'), link('d', 'e'))).toBe(false);
  });
});

test('all local paths of a recipe are sent: of components in every version, images, units, and steps', () => {
  const recipe = recipeSchema.parse({
    name: 'node',
    kubernetes: '1.36.3',
    components: [
      {
        name: 'kubelet',
        versions: ['1', '2'],
        from: { file: `k/\${version}/\${machine}` },
        to: `/k/\${version}`,
      },
      {
        name: 'tool',
        version: '1',
        from: { file: `tool-\${version}` },
        to: '/t',
        unit: { file: 'tool.service' },
      },
      { name: 'far', version: '1', from: { tar: 'https://example.com/x.tar' }, to: '/x' },
    ],
    images: [{ name: 'a.test/b:1', from: { layout: 'b' } }],
  }) as Recipe;
  expect(pathsToSend({ ...recipe, folder: '/x' }).toSorted()).toEqual(
    ['b', 'k/1/amd64', 'k/2/amd64', 'tool-1', 'tool.service'].toSorted(),
  );
});
