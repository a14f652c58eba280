import { expect, test } from 'vitest';
import { compareLoosely, isWithin } from './loose-version.ts';

test.each([
  ['1.34.2', '1.34.10', -1],
  ['v1.34.2', '1.34.2', 0],
  ['1.7', '1.7.0', 0],
  ['2.0.0-rc.1', '2.0.0', -1],
  ['2.0.0-rc.1', '2.0.0-rc.2', -1],
  ['2.0.0', '1.99.99', 1],
])('%s against %s', (a, b, sign) => {
  expect(Math.sign(compareLoosely(a, b))).toBe(sign);
  expect(Math.sign(compareLoosely(b, a))).toBe(sign === 0 ? 0 : -sign);
});

test('how far away a newer version may be', () => {
  expect(isWithin('1.34.2', '1.34.9', 'patch')).toBe(true);
  expect(isWithin('1.34.2', '1.35.0', 'patch')).toBe(false);
  expect(isWithin('1.34.2', '1.35.0', 'minor')).toBe(true);
  expect(isWithin('1.34.2', '2.0.0', 'minor')).toBe(false);
  expect(isWithin('1.34.2', '2.0.0', 'any')).toBe(true);
});
