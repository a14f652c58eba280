import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { formatBytes, parseBytes } from './bytes.ts';

describe('sizes that people write', () => {
  test.each([
    ['0', 0],
    ['512', 512],
    ['512B', 512],
    ['1.5 KiB', 1536],
    ['30GiB', 32_212_254_720],
    ['30gib', 32_212_254_720],
    ['2GB', 2_000_000_000],
    ['1TiB', 1_099_511_627_776],
  ])('%s', (text, bytes) => {
    expect(parseBytes(text)).toBe(bytes);
  });

  test.each(['', 'GiB', '-1', '1e9', '1 2', '1,5GiB', '9999999PiB', '1.GiB'])('%j is none', (text) => {
    expect(() => parseBytes(text)).toThrow(expect.objectContaining({ code: 'input-invalid' }));
  });

  test.each(['30G', '30Gi'])('%s is asked what it means, not guessed', (text) => {
    expect(() => parseBytes(text)).toThrow(
      expect.objectContaining({ hint: 'Write 30GiB (1024) or 30GB (1000).' }),
    );
  });
});

describe('sizes that people read', () => {
  test.each([
    [0, '0 B'],
    [1023, '1023 B'],
    [1024, '1 KiB'],
    [1536, '1.5 KiB'],
    [1_048_575, '1 MiB'],
    [104_857_600, '100 MiB'],
    [32_212_254_720, '30 GiB'],
  ])('%d', (bytes, text) => {
    expect(formatBytes(bytes)).toBe(text);
  });

  test('what is shown can be typed back, and is near the truth', () => {
    fc.assert(
      fc.property(fc.nat(2 ** 52), (bytes) => {
        const back = parseBytes(formatBytes(bytes));
        expect(Math.abs(back - bytes)).toBeLessThanOrEqual(bytes * 0.05);
      }),
    );
  });
});
