import { describe, expect, it } from 'vitest';
import { type FatInput, layOutFat } from './layout.ts';

const mebibyte = 1024 * 1024;
const input: FatInput = {
  size: 64 * mebibyte,
  firstSector: 2048,
  volumeId: 0x1234_5678,
  label: 'ESP',
  epoch: 1_750_000_000,
  files: [
    { path: 'SYSLINUX/A.CFG', content: Buffer.from('config') },
    { path: 'EFI/BOOT/BOOTX64.EFI', content: Buffer.alloc(5000, 'u') },
  ],
};

describe('FAT32', () => {
  it('begins every file on a page and never overlaps', () => {
    const pieces = layOutFat(input).toSorted((a, b) => a.offset - b.offset);
    let end = 0;
    for (const piece of pieces) {
      expect(piece.offset).toBeGreaterThanOrEqual(end);
      end = piece.offset + piece.bytes.length;
    }
    expect(end).toBeLessThan(input.size);
    const program = pieces.find(({ bytes }) => bytes.length === 5000);
    expect((program?.offset ?? 1) % 4096).toBe(0);
  });

  it('is the same for the same input', () => {
    const bytes = () => Buffer.concat(layOutFat(input).map((piece) => piece.bytes));
    expect(bytes().equals(bytes())).toBe(true);
  });

  it.each([
    ['more than fits', [{ path: 'BIG', content: Buffer.alloc(64 * mebibyte) }]],
    ['a long name', [{ path: 'much-too-long-a-name', content: Buffer.alloc(1) }]],
    [
      'one file twice',
      [
        { path: 'A', content: Buffer.alloc(1) },
        { path: 'A', content: Buffer.alloc(1) },
      ],
    ],
    [
      'a file that is a folder too',
      [
        { path: 'A', content: Buffer.alloc(1) },
        { path: 'A/B', content: Buffer.alloc(1) },
      ],
    ],
  ])('refuses %s', (_what, files) => {
    expect(() => layOutFat({ ...input, files })).toThrow(
      expect.objectContaining({ code: 'disk-layout-invalid' }),
    );
  });

  it('refuses a partition that is too small for FAT32', () => {
    expect(() => layOutFat({ ...input, size: 16 * mebibyte })).toThrow(/needs more/);
  });
});
