import { describe, expect, it } from 'vitest';
import { tarEntry } from '../tar/writer.ts';
import { requireExt4Fits } from './make.ts';
import { fitsExt4, measureEntries, neededExt4Size } from './size.ts';

const mebibyte = 1024 * 1024;

describe('the size of a file system', () => {
  it('counts content, folders, long links and attributes in blocks, and hard links once', () => {
    const usage = measureEntries([
      tarEntry('', { type: 'directory' }),
      tarEntry('a', { size: 4097 }),
      tarEntry('b', { type: 'hardlink', link: 'a' }),
      tarEntry('short', { type: 'symlink', link: 'a' }),
      tarEntry('long', { type: 'symlink', link: 'x'.repeat(60) }),
      tarEntry('marked', { xattrs: new Map([['user.big', Buffer.alloc(500)]]) }),
    ]);
    expect(usage).toEqual({ inodes: 5, blocks: 2 + 1 + 1 + 1 });
  });

  it('counts the blocks of a folder with many names', () => {
    const names = Array.from({ length: 1000 }, (_, index) =>
      tarEntry(`d/${String(index).padStart(100, '0')}`),
    );
    expect(measureEntries([tarEntry('d', { type: 'directory' }), ...names]).blocks).toBe(
      1 + Math.ceil(1000 / 37),
    );
  });

  it('that is said to be needed fits, and one MiB less does not', () => {
    for (const usage of [
      { inodes: 5, blocks: 10 },
      { inodes: 11_000, blocks: 115_000 },
      { inodes: 400_000, blocks: 500_000 },
    ]) {
      const needed = neededExt4Size(usage, 32 * mebibyte);
      expect(fitsExt4(needed, usage, 32 * mebibyte)).toBe(true);
      expect(fitsExt4(needed - mebibyte, usage, 32 * mebibyte)).toBe(false);
    }
  });

  it('is rejected in advance if it is too small', () => {
    expect(() => requireExt4Fits(256 * mebibyte, { inodes: 1000, blocks: 100_000 })).toThrow(
      expect.objectContaining({
        code: 'disk-too-small',
        message: expect.stringMatching(/needs 4\d\d MiB, and there are 256/),
      }),
    );
  });
});
