import { describe, expect, test } from 'vitest';
import { unusedCodes } from './check-errors.ts';

describe('a code counts as used', () => {
  test.each([
    "throw new ImagoError('pool-exists', 'x');",
    'const code = busy ? "pool-exists" : other;',
    "fail('cancelled')",
  ])('in %s', (source) => {
    expect(unusedCodes(['pool-exists', 'cancelled'], [source])).toHaveLength(1);
  });
});

describe('a code does not count as used', () => {
  test.each([
    "// 'pool-exists'",
    'const text = `pool-exists`;',
    "const text = 'pool-exists already';",
    "if (state === 'cancelled') return;",
    "const states = ['queued', 'cancelled'];",
  ])('in %s', (source) => {
    expect(unusedCodes(['pool-exists', 'cancelled'], [source])).toEqual(['pool-exists', 'cancelled']);
  });
});

test('one use in any file is enough', () => {
  expect(unusedCodes(['pool-exists', 'pool-gone'], ["f('pool-gone')", "f('pool-exists')"])).toEqual([]);
});
