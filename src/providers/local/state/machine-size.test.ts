import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { namedSizes, readSize } from './machine-size.ts';

const doc = readFileSync(new URL('../../../../docs/local-provider.md', import.meta.url), 'utf8');

describe('a machine size', () => {
  it.each([
    ['small', { cpus: 1, memoryMb: 1024 }],
    ['2cpu-3g', { cpus: 2, memoryMb: 3072 }],
    ['1cpu-768m', { cpus: 1, memoryMb: 768 }],
  ])('%s has that size', (text, size) => {
    expect(readSize(text)).toEqual(size);
  });

  it.each(['', 'huge', 'toString', '2cpu', '0cpu-1g', '1cpu-63m', '1cpu-1t', '1cpu-1g ', '1000cpu-1g'])(
    '%j is none',
    (text) => {
      expect(() => readSize(text)).toThrow(expect.objectContaining({ code: 'input-invalid' }));
    },
  );

  it.each(Object.entries(namedSizes))('%s is in the documentation', (name, { cpus, memoryMb }) => {
    const memory = memoryMb < 1024 ? `${memoryMb} MB` : `${memoryMb / 1024} GB`;
    expect(doc).toContain(`| \`${name}\` | ${cpus} | ${memory} |`);
  });
});
