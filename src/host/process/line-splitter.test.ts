import { expect, it } from 'vitest';
import { lineSplitter } from './line-splitter.ts';

function linesOf(maxLength: number, ...chunks: readonly (string | Uint8Array)[]): readonly string[] {
  const splitter = lineSplitter(maxLength);
  const lines = chunks.flatMap((chunk) => splitter.add(Buffer.from(chunk)));
  return [...lines, ...splitter.end()];
}

it('splits at every kind of line break, also across chunks', () => {
  expect(linesOf(100, 'one\ntw', 'o\r\nthree\r', '\n', '\nfour\rfive')).toEqual([
    ...['one', 'two', 'three', '', 'four', 'five'],
  ]);
});

it('returns a line that is too long in parts, before it ends', () => {
  const splitter = lineSplitter(4);
  expect(splitter.add(Buffer.from('abcdefghi'))).toEqual(['abcd', 'efgh']);
  expect(splitter.add(Buffer.from('j\nk\n'))).toEqual(['ij', 'k']);
  expect(linesOf(4, 'abcd\n', 'abcd', '\n')).toEqual(['abcd', 'abcd']);
});

it('keeps characters intact that two chunks share', () => {
  const bytes = Buffer.from('grün\n');
  expect(linesOf(100, bytes.subarray(0, 3), bytes.subarray(3))).toEqual(['grün']);
});

it('holds no more than one part of a line that never ends', () => {
  const splitter = lineSplitter();
  const chunk = Buffer.alloc(1024 * 1024, 'x');
  for (let count = 0; count < 64; count += 1) {
    const lines = splitter.add(chunk);
    expect(lines.length).toBeGreaterThan(0);
    expect(Math.max(...lines.map((line) => line.length))).toBe(64 * 1024);
  }
  expect(splitter.end().join('').length).toBeLessThanOrEqual(64 * 1024);
});
