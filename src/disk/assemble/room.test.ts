import { expect, test } from 'vitest';
import { requireExt4Fits } from '../ext4/make.ts';
import { layOutDisk } from './layout.ts';
import { fitsDisk, neededDiskSize, requireDiskRoom } from './room.ts';

const mebibyte = 1024 * 1024;

test.each([
  { inodes: 5, blocks: 10 },
  { inodes: 7000, blocks: 75_000 },
  { inodes: 400_000, blocks: 500_000 },
])('the reported size is that of a whole disk, and is enough: %o', (usage) => {
  const size = neededDiskSize(usage);
  expect(() => requireDiskRoom(size, usage)).not.toThrow();
  expect(() => requireExt4Fits(layOutDisk(size, 'x').root.size, usage)).not.toThrow();
  if (size > 128 * mebibyte) expect(fitsDisk(size - mebibyte, usage)).toBe(false);
});

test('a disk that is too small is reported with the required size', () => {
  const usage = { inodes: 7000, blocks: 75_000 };
  const need = neededDiskSize(usage) / mebibyte;
  expect(() => requireDiskRoom(320 * mebibyte, usage)).toThrow(
    expect.objectContaining({
      code: 'disk-too-small',
      message: `The disk has 320 MiB, and its content needs one of ${need} MiB.`,
      hint: expect.stringContaining(`\`disk.size: ${need}MiB\``),
      details: { needBytes: need * mebibyte, haveBytes: 320 * mebibyte },
    }),
  );
});
