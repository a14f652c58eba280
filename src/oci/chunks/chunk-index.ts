// Every chunk that a new disk could share: those of packs the store has, and those of the packs being
// written. A hash table over the packs' own tables, in typed arrays, because there may be millions of chunks
// and the whole must stay small: past the limit, further chunks are stored but not found again.
import type { Digest } from '../layout/digest.ts';
import { PackTable } from './pack-format.ts';

export interface ChunkPack {
  readonly number: number;
  /** Whether the store had it before. */
  readonly reused: boolean;
  /** Forgotten once the pack is written if none of its chunks can be found. */
  table: PackTable;
  /** Absent while the pack is being written. */
  stored: StoredPack | undefined;
  findable: boolean;
}

export interface StoredPack {
  readonly digest: Digest;
  readonly size: number;
  readonly chunks: number;
  readonly frames: number;
  /** sha256 of the table, in hex. */
  readonly table: string;
}

export interface ChunkRef {
  readonly pack: number;
  readonly index: number;
}

const maxIndexedChunks = 2_000_000;
const firstSlots = 1 << 12;
const empty = 0xffffffff;

export class ChunkIndex {
  readonly packs: ChunkPack[] = [];
  readonly #limit: number;
  #slotPacks = new Uint32Array(firstSlots).fill(empty);
  #slotIndexes = new Uint32Array(firstSlots);
  #used = 0;

  constructor(limit = maxIndexedChunks) {
    this.#limit = limit;
  }

  get full(): boolean {
    return this.#used >= this.#limit;
  }

  /** Adds a pack of the store. The first pack that has a chunk is the one where it is found. */
  addStored(table: PackTable, stored: StoredPack): void {
    const pack = this.#newPack(table, stored, true);
    for (let index = 0; index < table.count; index += 1) {
      const hash = table.hash(index);
      if (this.find(hash, 0) === undefined) this.#insert(pack, index);
    }
  }

  /** Says where a pack of this disk ended up. */
  finishPack(pack: ChunkPack, stored: StoredPack): void {
    pack.stored = stored;
    if (!pack.findable) pack.table = new PackTable();
  }

  startPack(): ChunkPack {
    return this.#newPack(new PackTable(), undefined, false);
  }

  /** Adds a chunk to a pack that is being written. */
  add(pack: ChunkPack, hashes: Uint8Array, at: number, length: number): ChunkRef {
    const index = pack.table.add(hashes.subarray(at, at + 32), length);
    this.#insert(pack, index);
    return { pack: pack.number, index };
  }

  find(hashes: Uint8Array, at: number): ChunkRef | undefined {
    const mask = this.#slotPacks.length - 1;
    let slot = firstWord(hashes, at) & mask;
    for (;;) {
      const pack = this.#slotPacks[slot] ?? empty;
      if (pack === empty) return undefined;
      const index = this.#slotIndexes[slot] ?? 0;
      if (this.packs[pack]?.table.hasHash(index, hashes, at) === true) return { pack, index };
      slot = (slot + 1) & mask;
    }
  }

  #newPack(table: PackTable, stored: StoredPack | undefined, reused: boolean): ChunkPack {
    const pack: ChunkPack = { number: this.packs.length, reused, table, stored, findable: false };
    this.packs.push(pack);
    return pack;
  }

  #insert(pack: ChunkPack, index: number): void {
    if (this.full) return;
    if ((this.#used + 1) * 5 > this.#slotPacks.length * 3) this.#grow();
    this.#place(pack.number, index, pack.table.firstWord(index));
    pack.findable = true;
    this.#used += 1;
  }

  #place(pack: number, index: number, word: number): void {
    const mask = this.#slotPacks.length - 1;
    let slot = word & mask;
    while (this.#slotPacks[slot] !== empty) slot = (slot + 1) & mask;
    this.#slotPacks[slot] = pack;
    this.#slotIndexes[slot] = index;
  }

  #grow(): void {
    const packs = this.#slotPacks;
    const indexes = this.#slotIndexes;
    this.#slotPacks = new Uint32Array(packs.length * 2).fill(empty);
    this.#slotIndexes = new Uint32Array(packs.length * 2);
    for (const [slot, pack] of packs.entries()) {
      if (pack === empty) continue;
      const index = indexes[slot] ?? 0;
      this.#place(pack, index, this.packs[pack]?.table.firstWord(index) ?? 0);
    }
  }
}

function firstWord(bytes: Uint8Array, at: number): number {
  const [a = 0, b = 0, c = 0, d = 0] = bytes.subarray(at, at + 4);
  return (a | (b << 8) | (c << 16) | (d << 24)) >>> 0;
}
