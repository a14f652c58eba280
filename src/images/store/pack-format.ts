// The form of a pack blob: compressed chunks one after the other, then a table with one record for each
// (sha256 of the chunk, its length, its stored length), then a trailer that says how many there are. The
// disk index names the sha256 of the table, so that one chunk can be read and checked without the rest.
import { ImagoError } from '../../domain/errors.ts';

export const tableRecordSize = 40;
export const trailerSize = 16;
const magic = Buffer.from('IMAGOPK1');

const lengthAt = 32;
const storedLengthAt = 36;

/** A growing list of chunk records, in memory as on disk. */
export class PackTable {
  #bytes: Buffer;
  #count: number;

  constructor(bytes: Buffer = Buffer.alloc(0)) {
    if (bytes.length % tableRecordSize !== 0)
      throw new ImagoError('store-corrupt', 'a pack table is cut short');
    this.#bytes = bytes;
    this.#count = bytes.length / tableRecordSize;
  }

  get count(): number {
    return this.#count;
  }

  get bytes(): Buffer {
    return this.#bytes.subarray(0, this.#count * tableRecordSize);
  }

  add(hash: Uint8Array, length: number): number {
    const at = this.#count * tableRecordSize;
    if (at === this.#bytes.length) {
      const larger = Buffer.alloc(Math.max(tableRecordSize * 64, at * 2));
      this.#bytes.copy(larger);
      this.#bytes = larger;
    }
    this.#bytes.set(hash, at);
    this.#bytes.writeUInt32LE(length, at + lengthAt);
    return this.#count++;
  }

  setStoredLength(index: number, stored: number): void {
    this.#bytes.writeUInt32LE(stored, index * tableRecordSize + storedLengthAt);
  }

  hash(index: number): Buffer {
    const at = index * tableRecordSize;
    return this.#bytes.subarray(at, at + lengthAt);
  }

  length(index: number): number {
    return this.#bytes.readUInt32LE(index * tableRecordSize + lengthAt);
  }

  storedLength(index: number): number {
    return this.#bytes.readUInt32LE(index * tableRecordSize + storedLengthAt);
  }

  hasHash(index: number, hashes: Uint8Array, at: number): boolean {
    const own = index * tableRecordSize;
    return this.#bytes.compare(hashes, at, at + lengthAt, own, own + lengthAt) === 0;
  }

  firstWord(index: number): number {
    return this.#bytes.readUInt32LE(index * tableRecordSize);
  }

  /** Stored bytes of the chunks `from` up to, not including, `to`. */
  storedBytes(from: number, to: number): number {
    let sum = 0;
    for (let index = from; index < to; index += 1) sum += this.storedLength(index);
    return sum;
  }
}

export function packTrailer(count: number): Buffer {
  const trailer = Buffer.alloc(trailerSize);
  trailer.writeUInt32LE(count, 0);
  magic.copy(trailer, trailerSize - magic.length);
  return trailer;
}

/** How many chunks the pack that ends so has, or `undefined` when this is no pack's end. */
export function readTrailer(trailer: Buffer): number | undefined {
  if (trailer.length !== trailerSize) return undefined;
  if (!trailer.subarray(trailerSize - magic.length).equals(magic)) return undefined;
  return trailer.readUInt32LE(0);
}

export function tableOffset(packSize: number, count: number): number {
  return packSize - trailerSize - count * tableRecordSize;
}
