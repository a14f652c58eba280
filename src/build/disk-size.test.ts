import { expect, test } from 'vitest';
import { sampleInput, sampleLock } from '../../test/support/inventory.ts';
import { fitsDisk } from '../disk/assemble/room.ts';
import { ext4Block } from '../disk/ext4/size.ts';
import type { Lock } from '../domain/lock/lock.ts';
import { requireRoom, tightRoom } from './disk-size.ts';

const mebibyte = 1024 * 1024;

/** As large as a node with containerd is: 191 MiB of base packages and 126 MiB above. */
function lockOf(sizeMiB: number | undefined, imageMiB = 0): Lock {
  const recipe = sizeMiB === undefined ? {} : { disk: { sizeBytes: sizeMiB * mebibyte } };
  return sampleLock(recipe, [
    sampleInput('package', 'libc6', { sets: ['base'], installedBytes: 191 * mebibyte }),
    sampleInput('package', 'containerd', { sets: ['packages'], installedBytes: 126 * mebibyte }),
    ...(imageMiB > 0 ? [sampleInput('container-image', 'x:1', { sizeBytes: imageMiB * mebibyte })] : []),
  ]);
}

function refusal(lock: Lock): { readonly needBytes: number } {
  try {
    requireRoom(lock);
  } catch (error) {
    expect(error).toMatchObject({ code: 'disk-too-small' });
    return (error as { details: { needBytes: number } }).details;
  }
  throw new Error('it was not refused');
}

test('a disk on which the content cannot fit is refused with a size that is enough for all of it', () => {
  const { needBytes } = refusal(lockOf(320));
  expect(fitsDisk(needBytes, { inodes: 7000, blocks: Math.ceil((317 * mebibyte) / ext4Block) })).toBe(true);
  expect(() => requireRoom(lockOf(needBytes / mebibyte))).not.toThrow();
  expect(tightRoom(lockOf(needBytes / mebibyte))).toBeUndefined();
});

test('between the minimum and the comfortable size it warns, with the size that should fit', () => {
  const { needBytes } = refusal(lockOf(320));
  expect(() => requireRoom(lockOf(380))).not.toThrow();
  expect(tightRoom(lockOf(380))).toBe(
    `The disk has 380 MiB, which may be too small: with ${needBytes / mebibyte} MiB its content should fit.`,
  );
});

test('a container image may be stored unpacked, and is not taken to be', () => {
  expect(() => requireRoom(lockOf(1024, 500))).not.toThrow();
  expect(tightRoom(lockOf(1024, 500))).toMatch(/may be too small/);
  expect(refusal(lockOf(600, 500)).needBytes).toBeGreaterThan(1800 * mebibyte);
});

test('a recipe without a size gets one that fits, without a warning', () => {
  expect(() => requireRoom(lockOf(undefined, 5000))).not.toThrow();
  expect(tightRoom(lockOf(undefined, 5000))).toBeUndefined();
});
