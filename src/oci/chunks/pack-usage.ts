// Counts how much of each pack that the store had before is used by a disk being stored.
import type { ChunkIndex, ChunkRef } from './chunk-index.ts';
import type { PackUse } from './pack-reuse.ts';

interface Marks {
  readonly chunks: Uint8Array;
  used: number;
}

export class PackUsage {
  readonly #chunkIndex: ChunkIndex;
  readonly #marks = new Map<number, Marks>();

  constructor(chunkIndex: ChunkIndex) {
    this.#chunkIndex = chunkIndex;
  }

  /** A chunk that is used twice counts once. */
  mark(ref: ChunkRef): void {
    const pack = this.#chunkIndex.packs[ref.pack];
    if (pack === undefined || !pack.reused) return;
    const marks = this.#marks.get(ref.pack) ?? { chunks: new Uint8Array(pack.table.count), used: 0 };
    this.#marks.set(ref.pack, marks);
    if (marks.chunks[ref.index] === 1) return;
    marks.chunks[ref.index] = 1;
    marks.used += pack.table.length(ref.index);
  }

  uses(): PackUse[] {
    return [...this.#marks].map(([pack, { used }]) => {
      return { pack, used, payload: this.#chunkIndex.packs[pack]?.table.diskBytes ?? 0 };
    });
  }
}
