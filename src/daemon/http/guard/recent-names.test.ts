// The memory of names has a limit, and drops the oldest first.
import { expect, test } from 'vitest';
import { createRecentNames } from './recent-names.ts';

test('the last ones are remembered, used ones longer', () => {
  const recent = createRecentNames(3);
  for (const name of ['a', 'b', 'c', 'a', 'd']) recent.add(name);
  expect(['a', 'b', 'c', 'd'].map((name) => recent.has(name))).toEqual([true, false, true, true]);
});
