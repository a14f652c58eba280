import { execFileSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import { noise } from '../../../test/support/test-disks.ts';
import { xzSize } from './xz-size.ts';

function xz(bytes: Uint8Array, ...flags: readonly string[]): Buffer {
  return execFileSync('xz', ['--compress', '--stdout', ...flags], { input: bytes, maxBuffer: 1 << 30 });
}

describe('the size of what is in an .xz file', () => {
  it.each([0, 1, 127, 128, 70_000, 3_000_000])('of %i bytes is known without unpacking it', (size) => {
    expect(xzSize(xz(noise('xz', size), '--check=crc32'))).toBe(size);
  });

  it('is that of all its blocks', () => {
    expect(xzSize(xz(noise('blocks', 3_000_000), '--block-size=100000'))).toBe(3_000_000);
  });

  it('is not known of anything else, nor of a part of one', () => {
    const whole = xz(noise('xz', 70_000));
    const two = Buffer.concat([whole, whole]);
    for (const bad of [Buffer.alloc(0), Buffer.from('YZ'), noise('other', 500), whole.subarray(0, -1), two]) {
      expect(xzSize(bad)).toBeUndefined();
    }
  });
});
