// Writes zeros where a disk still holds bytes, and nowhere else: a file with holes keeps them.
import type { FileHandle } from 'node:fs/promises';
import { readFully, writeFully } from '../bytes/byte-source.ts';
import { isZero } from '../bytes/extent.ts';

const windowSize = 1024 * 1024;
const zeros = Buffer.alloc(windowSize);

/** A second call writes nothing. */
export async function writeZeros(handle: FileHandle, offset: number, length: number): Promise<void> {
  for (let at = offset; at < offset + length; at += windowSize) {
    const size = Math.min(windowSize, offset + length - at);
    if (!isZero(await readFully(handle, at, Buffer.allocUnsafe(size)))) {
      await writeFully(handle, at, zeros.subarray(0, size));
    }
  }
}
