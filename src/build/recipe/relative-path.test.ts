import { posix } from 'node:path';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { relativePath } from './relative-path.ts';

test.each([
  ['.', '../common/files/a', '../common/files/a'],
  ['.', '../../a', '../../a'],
  ['node', 'common/a', '../common/a'],
  ['..', '../common/a', 'common/a'],
  ['..', '../../a', '../a'],
  ['../node', '../common/./b/../a', '../common/a'],
  ['../node', '../../a', '../../a'],
  ['a/b', 'a/b/', '.'],
  ['/r/node', '/r/common/a', '../common/a'],
  ['node', '/r/common/a', '/r/common/a'],
])('from %s to %s it is %s, wherever the process stands', (folder, path, way) => {
  expect(relativePath(folder, path)).toBe(way);
});

test.each([
  ['..', 'a'],
  ['../../node', '../a'],
  ['/r', 'a'],
])('from %s to %s the texts do not tell', (folder, path) => {
  expect(relativePath(folder, path)).toBeUndefined();
});

test('following the result leads to the path', () => {
  const path = fc
    .array(fc.constantFrom('..', '.', 'a', 'b', 'c'), { minLength: 1, maxLength: 6 })
    .map((names) => names.join('/'));
  fc.assert(
    fc.property(path, path, (folder, target) => {
      const way = relativePath(folder, target);
      fc.pre(way !== undefined);
      expect(posix.join(folder, way)).toBe(posix.normalize(target));
    }),
  );
});
