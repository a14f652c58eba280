import { expect, test } from 'vitest';
import { neededIds, rootRange } from './namespace.ts';

const usual = 1_900_000_000;

test('root takes the default range if no other user has an id in it', () => {
  const below = [100_000, 65_536] as const;
  const above = [usual + neededIds, 65_536] as const;
  expect(rootRange(undefined, [])).toBe(usual);
  expect(rootRange(undefined, [below, above, [1000, 1]])).toBe(usual);
});

test.each([
  ['the same range', [usual, 65_536], usual + 65_536],
  ['a range that starts before', [usual - 10, 20], usual + 10],
  ['a range that starts inside', [usual + neededIds - 1, 5], usual + neededIds + 4],
  ['a range around it', [1, 2_000_000_000], 2_000_000_001],
  ['a single user inside', [usual + 7, 1], usual + 8],
] as const)('root avoids ids that another user has: %s', (_, taken, first) => {
  expect(rootRange(undefined, [taken])).toBe(first);
});

test('root avoids several ranges', () => {
  const taken = [0, 1, 2].map((index) => [usual + index * 65_536, 65_536] as const);
  expect(rootRange(undefined, taken)).toBe(usual + 3 * 65_536);
  expect(rootRange(undefined, taken.toReversed())).toBe(usual + 3 * 65_536);
});

test("root's own range is used unless another user has an id in it", () => {
  expect(rootRange(500_000, [[100_000, 65_536]])).toBe(500_000);
  expect(rootRange(500_000, [[565_534, 10]])).toBe(usual);
});

test('no free range is an error with a hint', () => {
  const refused = expect.objectContaining({
    code: 'sandbox-missing',
    hint: expect.stringContaining('/etc/subuid'),
  });
  expect(() => rootRange(undefined, [[0, 2 ** 31]])).toThrow(refused);
});
