// The same sums as everybody else's.
import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { memorySystem } from '../../../test/support/agent/memory-system.ts';
import { digestOfText, sha256 } from './sha256.ts';

function known(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

it('is right at every length around the ends of blocks', () => {
  for (let length = 0; length <= 200; length += 1) {
    expect(sha256('x'.repeat(length)), String(length)).toBe(known('x'.repeat(length)));
  }
});

it('is right for any text', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary', maxLength: 500 }), (text) => {
      expect(sha256(text)).toBe(known(text));
    }),
  );
});

it('is left to a program when the text is large', async () => {
  const system = memorySystem();
  system.program((_, { input = '' }) => ({ stdout: `${known(input)}  -\n` }));
  const [small, large] = ['a'.repeat(4095), 'a'.repeat(4096)];
  expect(await digestOfText(system, small)).toBe(known(small));
  expect(system.commands).toEqual([]);
  expect(await digestOfText(system, large)).toBe(known(large));
  expect(system.commands).toEqual(['sha256sum']);
});
