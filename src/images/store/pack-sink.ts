// Writes new chunks into new packs. Where a chunk will lie is settled when it is first seen; its compressed
// bytes follow in the same order. One pack is flushed while the next is filled.
import type { BlobFolder, BlobWriter, CommittedBlob } from './blob-folder.ts';
import type { CataloguePack, ChunkCatalogue, ChunkRef } from './chunk-catalogue.ts';
import type { EncodeResult } from './chunk-jobs.ts';
import { chunkHash } from './chunker.ts';
import { packTrailer } from './pack-format.ts';
import { packTarget } from './pack-reuse.ts';
import type { StoreHold } from './session.ts';

interface OpenPack {
  readonly pack: CataloguePack;
  rawBytes: number;
}

interface WrittenPack {
  readonly pack: CataloguePack;
  readonly writer: BlobWriter;
}

export class PackSink {
  readonly #blobs: BlobFolder;
  readonly #catalogue: ChunkCatalogue;
  readonly #hold: StoreHold;
  #open: OpenPack | undefined;
  #writing: WrittenPack | undefined;
  #commit: Promise<void> = Promise.resolve();
  #packs = 0;
  #chunkBytes = 0;
  #addedBytes = 0;

  constructor(blobs: BlobFolder, catalogue: ChunkCatalogue, hold: StoreHold) {
    this.#blobs = blobs;
    this.#catalogue = catalogue;
    this.#hold = hold;
  }

  get packs(): number {
    return this.#packs;
  }

  /** Compressed bytes of the chunks so far. */
  get chunkBytes(): number {
    return this.#chunkBytes;
  }

  /** Bytes of packs that the store did not have. */
  get addedBytes(): number {
    return this.#addedBytes;
  }

  allocate(hashes: Uint8Array, at: number, length: number): ChunkRef {
    if (this.#open === undefined || this.#open.rawBytes >= packTarget(this.#packs - 1)) {
      this.#open = { pack: this.#catalogue.startPack(), rawBytes: 0 };
      this.#packs += 1;
    }
    this.#open.rawBytes += length;
    return this.#catalogue.add(this.#open.pack, hashes, at, length);
  }

  /** Takes the compressed chunks of `refs`, in the order in which they were allocated. */
  async append(refs: readonly ChunkRef[], encoded: EncodeResult): Promise<void> {
    let from = 0;
    let to = 0;
    for (const [number, ref] of refs.entries()) {
      if (this.#writing?.pack.number !== ref.pack) {
        await this.#flush(encoded.stored.subarray(from, to));
        from = to;
        await this.#startWriting(ref.pack);
      }
      const length = encoded.storedLengths[number] ?? 0;
      this.#writing?.pack.table.setStoredLength(ref.index, length);
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
    this.#chunkBytes += bytes.length;
  }

  async #startWriting(number: number): Promise<void> {
    await this.#finishWriting();
    const pack = this.#catalogue.packs[number];
    if (pack === undefined) throw new Error(`there is no pack ${number}`);
    this.#writing = { pack, writer: await this.#blobs.writer(this.#hold) };
  }

  async #finishWriting(): Promise<void> {
    const written = this.#writing;
    if (written === undefined) return;
    const table = written.pack.table.bytes;
    await written.writer.write(Buffer.concat([table, packTrailer(written.pack.table.count)]));
    await this.#commit;
    this.#writing = undefined;
    const commit = written.writer.commit().then((blob) => this.#committed(written.pack, blob, table));
    commit.catch(() => undefined);
    this.#commit = commit;
  }

  #committed(pack: CataloguePack, blob: CommittedBlob, table: Buffer): void {
    if (blob.added) this.#addedBytes += blob.size;
    this.#catalogue.finishPack(pack, {
      digest: blob.digest,
      size: blob.size,
      chunks: pack.table.count,
      table: chunkHash(table).toString('hex'),
    });
  }
}
