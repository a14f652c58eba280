import { expect, test } from 'vitest';
import { lockFileOf } from './read-recipe.ts';

test.each([
  ['imago.yaml', [], undefined, 'imago.lock'],
  ['node/imago.yml', [], undefined, 'node/imago.lock'],
  ['node/imago.yaml', ['over/debug.yaml'], undefined, 'node/imago.debug.lock'],
  ['imago.yaml', ['a.yaml', 'b.yaml'], '1.34.3', 'imago.a.b.kubernetes-1.34.3.lock'],
])('what is laid over %s (%j, %s) has a lock of its own', (file, overlays, kubernetes, lock) => {
  expect(lockFileOf(file, overlays, kubernetes)).toBe(lock);
});
