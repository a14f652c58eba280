import { expect, test } from 'vitest';
import { placeOf } from './longest-first.ts';

test('a file that is known to take long comes before all others, wherever the tree lies', () => {
  const places = [
    '/a/test/e2e/local-journey.test.ts',
    '/b/c/test/integration/packed.test.ts',
    '/a/other.test.ts',
  ];
  expect(places.map(placeOf)).toEqual(places.map(placeOf).toSorted((a, b) => a - b));
  expect(placeOf('/a/other.test.ts')).toBe(placeOf('/b/another.test.ts'));
  expect(placeOf('/a/test/e2e/local-journey.test.ts')).toBe(0);
});
