import fc from 'fast-check';
import { expect, test } from 'vitest';
import { quote } from './quote.ts';

test('odd characters are shown, not printed', () => {
  expect(quote('a\n\u001b[31m"')).toBe('"a\\n\\u001b[31m\\""');
});

test('a long text is cut, also in the middle of a character', () => {
  expect(quote('x'.repeat(1000))).toBe(`"${'x'.repeat(80)}…"`);
  expect(quote(`${'x'.repeat(79)}😀`).isWellFormed()).toBe(true);
});

test('whatever was typed fits on one line', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary', maxLength: 300 }), (text) => {
      expect(quote(text)).not.toMatch(/[\n\r]/);
      expect(quote(text).length).toBeLessThanOrEqual(6 * 81 + 2);
    }),
  );
});
