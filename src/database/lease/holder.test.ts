import { expect, test } from 'vitest';
import { isDead, thisHolder } from './holder.ts';

/** Linux counts to 2^22 at most. */
const noProcess = 2 ** 22 + 1;

test('a process that lives is not dead, and neither is one that cannot be looked at', () => {
  const holder = thisHolder();
  expect(isDead(holder)).toBe(false);
  expect(isDead({ ...holder, place: 'another machine' })).toBe(false);
  expect(isDead({ id: 'x', pid: 1 })).toBe(false);
  expect(isDead({ ...holder, pid: noProcess, place: 'another machine' })).toBe(false);
});

test('a process that does not exist is dead, even if its number was given to another', () => {
  const holder = thisHolder();
  expect(isDead({ ...holder, pid: noProcess })).toBe(true);
  expect(isDead({ ...holder, began: '1' })).toBe(true);
});
