// A page blob as extents over a file that only grows: snapshots share its bytes, and differences are exact.
import type { DataFile } from './data-file.ts';

/** Bytes from `start` to before `end`, written by change number `change`. */
interface Extent {
  readonly start: number;
  readonly end: number;
  readonly at: number;
  readonly change: number;
}

export interface Range {
  readonly start: number;
  /** The first byte after it. */
  readonly end: number;
}

/** What a blob was at some time. */
export interface BlobState {
  readonly size: number;
  readonly change: number;
  readonly extents: readonly Extent[];
}

export const pageBytes = 512;

export class PageBlob {
  readonly #data: DataFile;
  #extents: Extent[];
  #size: number;
  #change: number;

  constructor(data: DataFile, from: number | BlobState) {
    this.#data = data;
    this.#size = typeof from === 'number' ? from : from.size;
    this.#change = typeof from === 'number' ? 0 : from.change;
    this.#extents = typeof from === 'number' ? [] : [...from.extents];
  }

  state(): BlobState {
    return { size: this.#size, change: this.#change, extents: [...this.#extents] };
  }

  async write(start: number, bytes: Buffer): Promise<void> {
    const at = await this.#data.append(bytes);
    const end = start + bytes.length;
    this.#cut(start, end, [{ start, end, at, change: ++this.#change }]);
  }

  clear({ start, end }: Range): void {
    this.#change++;
    this.#cut(start, end, []);
  }

  resize(size: number): void {
    this.#cut(size, Number.POSITIVE_INFINITY, []);
    this.#size = size;
    this.#change++;
  }

  #cut(start: number, end: number, instead: readonly Extent[]): void {
    const first = firstAfter(this.#extents, start);
    let after = first;
    const edges: Extent[] = [];
    for (; after < this.#extents.length; after++) {
      const extent = this.#extents[after] as Extent;
      if (extent.start >= end) break;
      if (extent.start < start) edges.push({ ...extent, end: start });
      if (extent.end > end) edges.push({ ...extent, start: end, at: extent.at + end - extent.start });
    }
    const sorted = [...edges, ...instead].sort((a, b) => a.start - b.start);
    this.#extents.splice(first, after - first, ...sorted);
  }
}

/** Reads a range of a state; what was never written is zero. */
export async function readRange(data: DataFile, { extents }: BlobState, range: Range): Promise<Buffer> {
  const bytes = Buffer.alloc(range.end - range.start);
  for (let index = firstAfter(extents, range.start); index < extents.length; index++) {
    const extent = extents[index] as Extent;
    if (extent.start >= range.end) break;
    const start = Math.max(extent.start, range.start);
    const end = Math.min(extent.end, range.end);
    await data.read(bytes.subarray(start - range.start, end - range.start), extent.at + start - extent.start);
  }
  return bytes;
}

/** Returns the ranges that hold data. */
export function pagesOf({ extents }: BlobState): readonly Range[] {
  return joined(extents);
}

/** Returns what was written and what was cleared since an earlier state of the same blob. */
export function differences(
  now: BlobState,
  before: BlobState,
): { readonly pages: readonly Range[]; readonly cleared: readonly Range[] } {
  const pages = joined(now.extents.filter((extent) => extent.change > before.change));
  const held = joined(now.extents);
  const cleared = joined(before.extents).flatMap((range) => without(range, held));
  return { pages, cleared };
}

function without(range: Range, held: readonly Range[]): readonly Range[] {
  const left: Range[] = [];
  let from = range.start;
  for (const { start, end } of held) {
    if (end <= from) continue;
    if (start >= range.end) break;
    if (start > from) left.push({ start: from, end: start });
    from = Math.max(from, end);
  }
  return from < range.end ? [...left, { start: from, end: range.end }] : left;
}

function joined(ranges: readonly Range[]): readonly Range[] {
  const result: Range[] = [];
  for (const { start, end } of ranges) {
    const last = result.at(-1);
    if (last?.end === start) result[result.length - 1] = { start: last.start, end };
    else result.push({ start, end });
  }
  return result;
}

/** Returns the index of the first extent that ends after that byte. */
function firstAfter(extents: readonly Extent[], byte: number): number {
  let low = 0;
  let high = extents.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((extents[middle] as Extent).end <= byte) low = middle + 1;
    else high = middle;
  }
  return low;
}
