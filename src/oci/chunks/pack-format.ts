// The form of a pack blob. Chunks that follow each other are compressed together in frames of about half a
// MiB, which compresses better and is read faster than chunk by chunk. After the frames stands a table: a
// record for each chunk (its sha256, its length), a record for each frame (sha256 of its stored bytes, their
// length, how many chunks it holds), and a trailer with both counts. The disk index names the sha256 of the
// table, so that one frame can be read and checked without the rest of the pack.
import { ImagoError } from '../../domain/error/imago-error.ts';

export const trailerSize = 16;
/** A frame takes chunks until it has this many bytes. */
export const frameTarget = 512 * 1024;

const magic = Buffer.from('IMAGOPK1');
const hashSize = 32;
const chunkRecordSize = 36;
const frameRecordSize = 40;
const storedLengthAt = 32;
const frameChunksAt = 36;

export function tableSize(chunks: number, frames: number): number {
  return chunks * chunkRecordSize + frames * frameRecordSize;
}

/** The table of a pack, in memory as on disk. Grows while a pack is being filled. */
export class PackTable {
  #chunks: Buffer;
  #frames: Buffer;
  #count = 0;
  #frameCount = 0;
  /** Number of the frame that each chunk is in. */
  #frameOf: Uint32Array;
  #openBytes = Number.POSITIVE_INFINITY;

  constructor() {
    this.#chunks = Buffer.alloc(0);
    this.#frames = Buffer.alloc(0);
    this.#frameOf = new Uint32Array(0);
  }

  /** Throws `store-corrupt` if the bytes are not a table of this many chunks and frames. */
  static parse(bytes: Buffer, count: number, frameCount: number): PackTable {
    const table = new PackTable();
    table.#chunks = bytes.subarray(0, count * chunkRecordSize);
    table.#frames = bytes.subarray(count * chunkRecordSize);
    table.#count = count;
    table.#frameCount = frameCount;
    table.#frameOf = new Uint32Array(count);
    let chunk = 0;
    for (let frame = 0; frame < frameCount && bytes.length === tableSize(count, frameCount); frame += 1) {
      const end = chunk + table.chunksOf(frame);
      table.#frameOf.fill(frame, chunk, end);
      chunk = end;
    }
    if (chunk !== count) throw new ImagoError('store-corrupt', 'the table of a pack contradicts itself');
    return table;
  }

  get count(): number {
    return this.#count;
  }

  get frameCount(): number {
    return this.#frameCount;
  }

  get bytes(): Buffer {
    const chunks = this.#chunks.subarray(0, this.#count * chunkRecordSize);
    return Buffer.concat([chunks, this.#frames.subarray(0, this.#frameCount * frameRecordSize)]);
  }

  /** Adds a chunk, to the last frame or a new one; which, depends only on the chunks before it. */
  add(hash: Uint8Array, length: number): number {
    if (this.#openBytes >= frameTarget) this.#startFrame();
    this.#openBytes += length;
    const frame = this.#frameCount - 1;
    this.#frames.writeUInt32LE(this.chunksOf(frame) + 1, frame * frameRecordSize + frameChunksAt);
    const at = this.#count * chunkRecordSize;
    this.#chunks = roomFor(this.#chunks, at + chunkRecordSize);
    this.#chunks.set(hash, at);
    this.#chunks.writeUInt32LE(length, at + hashSize);
    if (this.#count === this.#frameOf.length) {
      const larger = new Uint32Array(Math.max(64, this.#count * 2));
      larger.set(this.#frameOf);
      this.#frameOf = larger;
    }
    this.#frameOf[this.#count] = frame;
    return this.#count++;
  }

  setFrame(frame: number, storedHash: Uint8Array, storedLength: number): void {
    this.#frames.set(storedHash, frame * frameRecordSize);
    this.#frames.writeUInt32LE(storedLength, frame * frameRecordSize + storedLengthAt);
  }

  hash(chunk: number): Buffer {
    const at = chunk * chunkRecordSize;
    return this.#chunks.subarray(at, at + hashSize);
  }

  hasHash(chunk: number, hashes: Uint8Array, at: number): boolean {
    const own = chunk * chunkRecordSize;
    return this.#chunks.compare(hashes, at, at + hashSize, own, own + hashSize) === 0;
  }

  firstWord(chunk: number): number {
    return this.#chunks.readUInt32LE(chunk * chunkRecordSize);
  }

  length(chunk: number): number {
    return this.#chunks.readUInt32LE(chunk * chunkRecordSize + hashSize);
  }

  frameOf(chunk: number): number {
    return this.#frameOf[chunk] ?? 0;
  }

  chunksOf(frame: number): number {
    return this.#frames.readUInt32LE(frame * frameRecordSize + frameChunksAt);
  }

  storedHash(frame: number): Buffer {
    return this.#frames.subarray(frame * frameRecordSize, frame * frameRecordSize + hashSize);
  }

  storedLength(frame: number): number {
    return this.#frames.readUInt32LE(frame * frameRecordSize + storedLengthAt);
  }

  /** Bytes of disk in all chunks. */
  get diskBytes(): number {
    let sum = 0;
    for (let chunk = 0; chunk < this.#count; chunk += 1) sum += this.length(chunk);
    return sum;
  }

  #startFrame(): void {
    const at = this.#frameCount * frameRecordSize;
    this.#frames = roomFor(this.#frames, at + frameRecordSize);
    this.#frames.fill(0, at, at + frameRecordSize);
    this.#frameCount += 1;
    this.#openBytes = 0;
  }
}

function roomFor(buffer: Buffer, size: number): Buffer {
  if (buffer.length >= size) return buffer;
  const larger = Buffer.alloc(Math.max(size, buffer.length * 2, 4096));
  buffer.copy(larger);
  return larger;
}

export function packTrailer(table: PackTable): Buffer {
  const trailer = Buffer.alloc(trailerSize);
  trailer.writeUInt32LE(table.count, 0);
  trailer.writeUInt32LE(table.frameCount, 4);
  magic.copy(trailer, trailerSize - magic.length);
  return trailer;
}

export interface PackCounts {
  readonly chunks: number;
  readonly frames: number;
}

/** Returns the content of a pack with this size and end, or `undefined` if it is not the end of a pack. */
export function readTrailer(trailer: Buffer, packSize: number): PackCounts | undefined {
  if (trailer.length !== trailerSize) return undefined;
  if (!trailer.subarray(trailerSize - magic.length).equals(magic)) return undefined;
  const counts = { chunks: trailer.readUInt32LE(0), frames: trailer.readUInt32LE(4) };
  return tableSize(counts.chunks, counts.frames) + trailerSize <= packSize ? counts : undefined;
}
