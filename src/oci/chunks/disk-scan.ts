// Reads a disk once from front to back, and finds its chunks and their hashes.
// Synchronous, because it lives in a thread of its own; the caller asks for one batch after the other.
import { readSync } from 'node:fs';
import type { Extent } from '../../disk/bytes/extent.ts';
import { ImagoError } from '../../domain/error/imago-error.ts';
import { chunkHash, nextChunk } from './chunker.ts';
import { extentsToRead } from './data-extents.ts';

export interface ScanInput {
  readonly fd: number;
  readonly size: number;
  readonly extents: readonly Extent[] | undefined;
}

/** Chunks in the order of the disk; the hash of number n is `hashes` from 32 n. */
export interface ScanBatch {
  readonly offsets: Float64Array;
  readonly lengths: Uint32Array;
  readonly hashes: Uint8Array;
  /** How far the disk has been read. */
  readonly position: number;
  /** Whether the end of the disk was reached. */
  readonly isLast: boolean;
}

const windowSize = 2 * 1024 * 1024;

export class DiskScan {
  readonly #fd: number;
  readonly #size: number;
  readonly #extents: readonly Extent[];
  readonly #window = Buffer.alloc(windowSize);
  #extent = 0;
  #start = 0;
  #cursor = 0;
  #filled = 0;

  constructor(input: ScanInput) {
    this.#fd = input.fd;
    this.#size = input.size;
    this.#extents = extentsToRead(input.extents, input.size);
  }

  next(): ScanBatch {
    const offsets: number[] = [];
    const lengths: number[] = [];
    const hashes: Buffer[] = [];
    let ended = false;
    while (offsets.length === 0 && !ended) {
      ended = !this.#fill();
      if (!ended) this.#cut(offsets, lengths, hashes);
    }
    return {
      offsets: Float64Array.from(offsets),
      lengths: Uint32Array.from(lengths),
      hashes: new Uint8Array(Buffer.concat(hashes)),
      position: this.#start + this.#filled,
      isLast: ended,
    };
  }

  /** Moves what is left to the front and reads on; false at the end of the disk. */
  #fill(): boolean {
    if (this.#cursor === this.#filled) {
      const position = this.#start + this.#filled;
      if (position >= this.#extentEnd()) this.#extent += 1;
      const next = this.#extents[this.#extent];
      this.#start = Math.max(position, next?.offset ?? this.#size);
      this.#cursor = 0;
      this.#filled = 0;
      if (next === undefined) return false;
    }
    this.#window.copy(this.#window, 0, this.#cursor, this.#filled);
    this.#start += this.#cursor;
    this.#filled -= this.#cursor;
    this.#cursor = 0;
    const wanted = Math.min(windowSize, this.#extentEnd() - this.#start);
    while (this.#filled < wanted) {
      const read = readSync(
        this.#fd,
        this.#window,
        this.#filled,
        wanted - this.#filled,
        this.#start + this.#filled,
      );
      if (read === 0) throw new ImagoError('disk-changed', 'the disk became shorter while it was read');
      this.#filled += read;
    }
    return true;
  }

  #cut(offsets: number[], lengths: number[], hashes: Buffer[]): void {
    const last = this.#start + this.#filled === this.#extentEnd();
    while (this.#cursor < this.#filled) {
      const cut = nextChunk(this.#window, this.#cursor, this.#filled, last);
      const from = this.#cursor + cut.hole;
      this.#cursor = from + (cut.length ?? 0);
      if (cut.length === undefined) return;
      if (cut.length === 0) continue;
      offsets.push(this.#start + from);
      lengths.push(cut.length);
      hashes.push(chunkHash(this.#window.subarray(from, this.#cursor)));
    }
  }

  #extentEnd(): number {
    const extent = this.#extents[this.#extent];
    return extent === undefined ? this.#size : extent.offset + extent.length;
  }
}
