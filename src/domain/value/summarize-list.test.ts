import { expect, test } from 'vitest';
import { someOf } from './summarize-list.ts';

const names = (count: number) => Array.from({ length: count }, (_, n) => `n${n}`);

test('a short list is whole, and no line says "and 1 more"', () => {
  expect(someOf([])).toBe('');
  expect(someOf(names(3), 2)).toBe('n0, n1, n2');
});

test('a long one says how many there are besides', () => {
  expect(someOf(names(4), 2)).toBe('n0, n1 and 2 more');
  expect(someOf(names(10_000))).toMatch(/^n0, .*, n9 and 9990 more$/);
});
