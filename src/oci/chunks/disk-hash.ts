// The sha256 of a whole disk. It can only be made from front to back, so it is work of its own that runs beside the
// scan for chunks; what it reads is still in the machine's memory.
import { createHash, type Hash } from 'node:crypto';
import { readSync } from 'node:fs';
import { ImagoError } from '../../domain/error/imago-error.ts';
import { extentsToRead } from './data-extents.ts';
import type { ScanInput } from './disk-scan.ts';

const windowSize = 1024 * 1024;
const zeros = Buffer.alloc(windowSize);

/** In hex. What is outside of the extents is zero, unread. `disk-changed` when the file ends sooner. */
export function hashDisk({ fd, size, extents }: ScanInput): string {
  const hash = createHash('sha256');
  const window = Buffer.allocUnsafeSlow(windowSize);
  let at = 0;
  for (const { offset, length } of extentsToRead(extents, size)) {
    hashZeros(hash, offset - at);
    const end = offset + length;
    for (at = offset; at < end; ) {
      const read = readSync(fd, window, 0, Math.min(windowSize, end - at), at);
      if (read === 0) throw new ImagoError('disk-changed', 'the disk became shorter while it was read');
      hash.update(window.subarray(0, read));
      at += read;
    }
  }
  hashZeros(hash, size - at);
  return hash.digest('hex');
}

function hashZeros(hash: Hash, length: number): void {
  for (let left = length; left > 0; left -= zeros.length) {
    hash.update(left >= zeros.length ? zeros : zeros.subarray(0, left));
  }
}
