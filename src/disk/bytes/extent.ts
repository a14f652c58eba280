// A run of bytes on a disk. Lists of extents are sorted, do not touch and do not overlap; what lies
// between them reads as zero.
export interface Extent {
  readonly offset: number;
  readonly length: number;
}

/** Joins extents that touch. The input must be sorted by offset. */
export function* joinExtents(extents: Iterable<Extent>): Generator<Extent> {
  let open: Extent | undefined;
  for (const extent of extents) {
    if (extent.length === 0) continue;
    if (open !== undefined && open.offset + open.length === extent.offset) {
      open = { offset: open.offset, length: open.length + extent.length };
      continue;
    }
    if (open !== undefined) yield open;
    open = extent;
  }
  if (open !== undefined) yield open;
}

const zeros = Buffer.alloc(1 << 16);

export function isZero(bytes: Buffer): boolean {
  for (let at = 0; at < bytes.length; at += zeros.length) {
    const part = bytes.subarray(at, at + zeros.length);
    if (part.compare(zeros, 0, part.length) !== 0) return false;
  }
  return true;
}
