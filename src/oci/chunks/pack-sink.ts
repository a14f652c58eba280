// Writes new chunks into new packs. Where a chunk will lie is settled when it is first seen; its compressed
// bytes follow in the same order. One pack is flushed while the next is filled.
import type { BlobFolder, BlobWriter, CommittedBlob } from '../layout/blob-folder.ts';
import type { StoreHold } from '../layout/owner.ts';
import type { ChunkIndex, ChunkPack, ChunkRef } from './chunk-index.ts';
import type { EncodeResult } from './chunk-jobs.ts';
import { chunkHash } from './chunker.ts';
import { packTrailer } from './pack-format.ts';
import { packTarget } from './pack-reuse.ts';

export interface FrameRef {
  readonly pack: number;
  readonly frame: number;
}

interface OpenPack {
  readonly pack: ChunkPack;
  diskBytes: number;
}

interface WrittenPack {
  readonly pack: ChunkPack;
  readonly writer: BlobWriter;
}

export class PackSink {
  readonly #blobs: BlobFolder;
  readonly #chunkIndex: ChunkIndex;
  readonly #hold: StoreHold;
  #open: OpenPack | undefined;
  #writing: WrittenPack | undefined;
  #commit: Promise<void> = Promise.resolve();
  #packs = 0;
  #diskBytes = 0;
  #storedBytes = 0;
  #addedBytes = 0;

  constructor(blobs: BlobFolder, chunkIndex: ChunkIndex, hold: StoreHold) {
    this.#blobs = blobs;
    this.#chunkIndex = chunkIndex;
    this.#hold = hold;
  }

  get packs(): number {
    return this.#packs;
  }

  /** Bytes of disk in the chunks that were allocated. */
  get diskBytes(): number {
    return this.#diskBytes;
  }

  /** Compressed bytes written so far. */
  get storedBytes(): number {
    return this.#storedBytes;
  }

  /** Bytes of packs that the store did not have. */
  get addedBytes(): number {
    return this.#addedBytes;
  }

  allocate(hashes: Uint8Array, at: number, length: number): ChunkRef {
    if (this.#open === undefined || this.#open.diskBytes >= packTarget(this.#packs - 1)) {
      this.#open = { pack: this.#chunkIndex.startPack(), diskBytes: 0 };
      this.#packs += 1;
    }
    this.#open.diskBytes += length;
    this.#diskBytes += length;
    return this.#chunkIndex.add(this.#open.pack, hashes, at, length);
  }

  /** Takes compressed frames, in the order in which their chunks were allocated. */
  async append(frames: readonly FrameRef[], encoded: EncodeResult): Promise<void> {
    let from = 0;
    let to = 0;
    for (const [number, ref] of frames.entries()) {
      if (this.#writing?.pack.number !== ref.pack) {
        await this.#flush(encoded.stored.subarray(from, to));
        from = to;
        await this.#startWriting(ref.pack);
      }
      const length = encoded.storedLengths[number] ?? 0;
      const hash = encoded.storedHashes.subarray(number * 32, number * 32 + 32);
      this.#writing?.pack.table.setFrame(ref.frame, hash, length);
      to += length;
    }
    await this.#flush(encoded.stored.subarray(from, to));
  }

  async finish(): Promise<void> {
    await this.#finishWriting();
    await this.#commit;
  }

  /** Gives up the pack that is being written; those that are finished stay for the next try. */
  async abandon(): Promise<void> {
    await this.#writing?.writer.abandon();
    this.#writing = undefined;
    await this.#commit.catch(() => undefined);
  }

  async #flush(bytes: Uint8Array): Promise<void> {
    if (bytes.length === 0) return;
    await this.#writing?.writer.write(bytes);
    this.#storedBytes += bytes.length;
  }

  async #startWriting(number: number): Promise<void> {
    await this.#finishWriting();
    const pack = this.#chunkIndex.packs[number];
    if (pack === undefined) throw new Error(`there is no pack ${number}`);
    this.#writing = { pack, writer: await this.#blobs.writer(this.#hold) };
  }

  async #finishWriting(): Promise<void> {
    const written = this.#writing;
    if (written === undefined) return;
    const table = written.pack.table.bytes;
    await written.writer.write(Buffer.concat([table, packTrailer(written.pack.table)]));
    await this.#commit;
    this.#writing = undefined;
    const commit = written.writer.commit().then((blob) => this.#committed(written.pack, blob, table));
    commit.catch(() => undefined);
    this.#commit = commit;
  }

  #committed(pack: ChunkPack, blob: CommittedBlob, table: Buffer): void {
    if (blob.added) this.#addedBytes += blob.size;
    this.#chunkIndex.finishPack(pack, {
      digest: blob.digest,
      size: blob.size,
      chunks: pack.table.count,
      frames: pack.table.frameCount,
      table: chunkHash(table).toString('hex'),
    });
  }
}
