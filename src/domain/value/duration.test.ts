import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { formatDuration, parseDuration } from './duration.ts';

describe('lengths of time that people write', () => {
  test.each([
    ['0s', 0],
    ['500ms', 500],
    ['90s', 90_000],
    ['5m', 300_000],
    ['1h30m', 5_400_000],
    ['7d', 604_800_000],
    ['1d2h3m4s5ms', 93_784_005],
  ])('%s', (text, ms) => {
    expect(parseDuration(text)).toBe(ms);
  });

  test.each(['', '5', '1.5h', '-5s', '5 m', '30m1h', '5min', '5S', '99999999999999999d', 's'])(
    '%j is none',
    (text) => {
      expect(() => parseDuration(text)).toThrow(expect.objectContaining({ code: 'input-invalid' }));
    },
  );
});

describe('lengths of time that people read', () => {
  test.each([
    [0, '0 ms'],
    [-5, '0 ms'],
    [850, '850 ms'],
    [999.6, '1 s'],
    [1000, '1 s'],
    [3240, '3.2 s'],
    [9960, '10 s'],
    [59_400, '59 s'],
    [59_600, '1 min'],
    [423_000, '7 min 3 s'],
    [3_599_600, '1 h'],
    [7_500_000, '2 h 5 min'],
    [86_399_000, '1 d'],
    [273_600_000, '3 d 4 h'],
    [31_536_000_000, '365 d'],
  ])('%d ms', (ms, text) => {
    expect(formatDuration(ms)).toBe(text);
  });

  test('two units at most, the smaller one less than the greater, and near the truth', () => {
    const unit = { d: 86_400_000, h: 3_600_000, min: 60_000, s: 1000, ms: 1 };
    fc.assert(
      fc.property(fc.oneof(fc.nat(100_000), fc.nat(400_000_000)), (ms) => {
        const match = /^([0-9.]+) (d|h|min|s|ms)(?: ([0-9]+) (h|min|s))?$/.exec(formatDuration(ms));
        expect(match).not.toBeNull();
        const [, first, great, second, small] = match ?? [];
        const shown =
          Number(first) * unit[great as keyof typeof unit] +
          (small === undefined ? 0 : Number(second) * unit[small as keyof typeof unit]);
        if (small !== undefined) {
          expect(Number(second) * unit[small as keyof typeof unit]).toBeLessThan(
            unit[great as keyof typeof unit],
          );
        }
        expect(Math.abs(shown - ms)).toBeLessThanOrEqual(Math.max(50, ms / 20));
      }),
      { numRuns: 500 },
    );
  });
});
