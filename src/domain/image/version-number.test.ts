import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  compareNumbers,
  compareVersions,
  formatNumber,
  largestPart,
  likelyNumber,
  parseNumber,
  readNumber,
} from './version-number.ts';

const part = fc.oneof(fc.nat(20), fc.nat(largestPart), fc.constant(largestPart));
const number = fc.record({ major: part, minor: part, patch: part });

describe('a number is three whole numbers without leading zeros', () => {
  test.each(['0.0.0', '1.34.2', '2026.11.15', '202611.15.0', '2147483647.0.0'])('%s is one', (text) => {
    expect(formatNumber(parseNumber(text))).toBe(text);
  });

  test.each([
    '',
    '1',
    '1.2',
    '1.2.3.4',
    '01.2.3',
    '1.02.3',
    'v1.2.3',
    '1.2.3-rc.1',
    '1.2.-3',
    '1.2.3 ',
    '1.2.3\n',
    '1..3',
    '１.2.3',
    '1e3.0.0',
    '2147483648.0.0',
    '99999999999.0.0',
  ])('%j is none', (text) => {
    expect(readNumber(text)).toBeUndefined();
    expect(() => parseNumber(text)).toThrow(expect.objectContaining({ code: 'number-malformed' }));
  });
});

test('what is written can be read, and reads the same', () => {
  fc.assert(
    fc.property(number, (value) => {
      expect(parseNumber(formatNumber(value))).toEqual(value);
    }),
  );
});

test('numbers are compared part by part, not as text', () => {
  expect(compareVersions('1.10.0', '1.9.0')).toBeGreaterThan(0);
  expect(compareVersions('2.0.0', '10.0.0')).toBeLessThan(0);
  expect(compareVersions('1.2.3', '1.2.3')).toBe(0);
});

test('the order is total: it never contradicts itself', () => {
  fc.assert(
    fc.property(number, number, number, (a, b, c) => {
      expect(Math.sign(compareNumbers(a, b))).toBe(-Math.sign(compareNumbers(b, a)) + 0);
      if (compareNumbers(a, b) <= 0 && compareNumbers(b, c) <= 0) {
        expect(compareNumbers(a, c)).toBeLessThanOrEqual(0);
      }
      expect(compareNumbers(a, b) === 0).toBe(formatNumber(a) === formatNumber(b));
    }),
  );
});

test.each([
  ['v1.34.2', '1.34.2'],
  ['1.34', '1.34.0'],
  ['1', '1.0.0'],
  ['01.02.03', '1.2.3'],
  ['2026-11-05', '2026.11.5'],
  ['1.35.0-rc.1', '1.35.0'],
  [' 1.2.3 ', '1.2.3'],
])('%j probably means %s', (text, meant) => {
  expect(likelyNumber(text)).toBe(meant);
});

test('a guess is always a number', () => {
  fc.assert(
    fc.property(fc.stringMatching(/^v?[0-9.-]{0,14}$/), (text) => {
      const likely = likelyNumber(text);
      if (likely !== undefined) expect(readNumber(likely)).toBeDefined();
    }),
  );
});
