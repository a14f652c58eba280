// Which parts of a disk must be read. What the caller knows of holes saves reading them; without it the
// whole disk is read, and the zeros are found by looking.

import type { Extent } from '../../disk/bytes/extent.ts';
import { ImagoError } from '../../domain/error/imago-error.ts';
import { blockSize } from './chunker.ts';

const smallestGapWorthSkipping = 64 * 1024;

/**
 * The extents to read: on whole blocks, in order, without gaps that cost more to skip than to read. The
 * given ones must be sorted, apart and inside of the disk (`input-invalid`); `undefined` means unknown.
 */
export function extentsToRead(given: readonly Extent[] | undefined, diskSize: number): readonly Extent[] {
  if (given === undefined) return diskSize === 0 ? [] : [{ offset: 0, length: diskSize }];
  const result: { offset: number; length: number }[] = [];
  let previousEnd = 0;
  for (const { offset, length } of given) {
    const end = offset + length;
    if (!Number.isSafeInteger(end) || offset < previousEnd || length < 0 || end > diskSize) {
      throw new ImagoError('input-invalid', `extent ${offset}+${length} is out of order or off the disk`);
    }
    previousEnd = end;
    if (length === 0) continue;
    const from = offset - (offset % blockSize);
    const to = Math.min(Math.ceil(end / blockSize) * blockSize, diskSize);
    const last = result.at(-1);
    if (last !== undefined && from - (last.offset + last.length) < smallestGapWorthSkipping) {
      last.length = to - last.offset;
    } else {
      result.push({ offset: from, length: to - from });
    }
  }
  return result;
}
