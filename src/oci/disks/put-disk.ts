// Stores a raw disk as a version: reads it, keeps what the store has, compresses and packs what is new,
// and only when everything is flushed lists the manifest. A put that dies leaves finished packs, which the
// next one takes up, and temporary files, which are swept.
import type { BigIntStats } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { throwIfAborted } from '../../async/abort.ts';
import type { Extent } from '../../disk/bytes/extent.ts';
import { ImagoError } from '../../domain/error/imago-error.ts';
import { systemCode } from '../../host/files/durable-files.ts';
import type { ChunkIndex, ChunkRef } from '../chunks/chunk-index.ts';
import { RunCollector } from '../chunks/disk-index.ts';
import type { ScanBatch } from '../chunks/disk-scan.ts';
import { EncodeQueue, type NewChunk } from '../chunks/encode-queue.ts';
import { loadChunkIndex } from '../chunks/load-chunk-index.ts';
import { type PackUse, packsToRewrite } from '../chunks/pack-reuse.ts';
import { PackSink } from '../chunks/pack-sink.ts';
import { type ChunkPool, openChunkPool, openHash, openScan } from '../chunks/worker-pool.ts';
import { type StoreContext, worthThreads } from '../layout/context.ts';
import type { Digest } from '../layout/digest.ts';
import type { Annotations } from '../layout/manifest.ts';
import type { StoreHold } from '../layout/owner.ts';
import { commitDisk, type StoredDisk } from './commit-disk.ts';

export interface PutOptions {
  /** The parts of the file that may hold data, if the caller knows; the rest is taken as zero, unread. */
  readonly extents?: readonly Extent[] | undefined;
  /** How much of the file is the disk: for a fixed VHD, all but its footer. The whole file unless given. */
  readonly size?: number | undefined;
  /** Versions that the disk is likely to share most with; the store's newest are tried in any case. */
  readonly basis?: readonly Digest[];
  /** Part of the manifest, and so of its digest. */
  readonly annotations?: Annotations | undefined;
  /** Listed under this tag as soon as it is listed at all. */
  readonly tag?: string | undefined;
  /** Keeps the new version until the caller has recorded it. Without one, garbage collection's grace does. */
  readonly hold?: StoreHold | undefined;
  readonly signal?: AbortSignal | undefined;
  readonly onProgress?: ((progress: PutProgress) => void) | undefined;
}

export interface PutProgress {
  /** Bytes of the disk that have been read, of `size`. */
  readonly position: number;
  readonly size: number;
  readonly storedBytes: number;
}

/**
 * Stores the disk and returns its version. The same disk with the same annotations again is the same
 * version and adds nothing. Two puts of one file take turns. `disk-changed` when something writes to the
 * file in the meantime, `no-space` when the store's file system is full; the store then holds what it held.
 */
export async function putDisk(
  store: StoreContext,
  path: string,
  options: PutOptions = {},
): Promise<StoredDisk> {
  const handle = await openDisk(path);
  try {
    const before = await handle.stat({ bigint: true });
    return await store.owner.inTurn(`put ${before.dev} ${before.ino}`, () => {
      throwIfAborted(options.signal);
      return putOpened(store, handle, before, options);
    });
  } finally {
    await handle.close();
  }
}

async function putOpened(
  store: StoreContext,
  handle: FileHandle,
  before: BigIntStats,
  options: PutOptions,
): Promise<StoredDisk> {
  if (!before.isFile()) {
    throw new ImagoError('input-invalid', 'a disk is stored from a file, not from a device or folder');
  }
  const size = options.size ?? Number(before.size);
  if (size > Number(before.size)) {
    throw new ImagoError('input-invalid', `the file has only ${before.size} of the disk's ${size} bytes`);
  }
  const hold = options.hold ?? store.owner.hold();
  try {
    const chunkIndex = await loadChunkIndex(store, options.basis ?? [], hold);
    const run = new PutRun(store, handle.fd, size, chunkIndex, hold, options);
    const { sha256, runs } = await run.finish();
    const after = await handle.stat({ bigint: true });
    if (after.mtimeNs !== before.mtimeNs || after.size !== before.size) {
      throw new ImagoError('disk-changed', 'the disk was written to while it was being stored');
    }
    return await commitDisk(store, hold, {
      size,
      sha256: `sha256:${sha256}`,
      chunkIndex,
      runs,
      addedBytes: run.addedBytes,
      annotations: options.annotations,
      tag: options.tag,
    });
  } finally {
    if (options.hold === undefined) hold.release();
  }
}

async function openDisk(path: string): Promise<FileHandle> {
  try {
    return await open(path, 'r');
  } catch (cause) {
    if (systemCode(cause) === undefined) throw cause;
    throw new ImagoError('file-missing', `cannot read the disk ${path}`, { cause });
  }
}

class PutRun {
  readonly #fd: number;
  readonly #size: number;
  readonly #options: PutOptions;
  readonly #chunkIndex: ChunkIndex;
  readonly #threads: number;
  readonly #pool: ChunkPool;
  readonly #sink: PackSink;
  readonly #queue: EncodeQueue;
  readonly #usage: PackUsage;

  constructor(
    store: StoreContext,
    fd: number,
    size: number,
    chunkIndex: ChunkIndex,
    hold: StoreHold,
    options: PutOptions,
  ) {
    const dataBytes = options.extents?.reduce((sum, extent) => sum + extent.length, 0) ?? size;
    this.#fd = fd;
    this.#size = size;
    this.#options = options;
    this.#chunkIndex = chunkIndex;
    this.#threads = dataBytes < worthThreads ? 0 : store.threads;
    this.#pool = openChunkPool(this.#threads);
    this.#sink = new PackSink(store.blobs, chunkIndex, hold);
    this.#queue = new EncodeQueue(fd, this.#pool, this.#sink, chunkIndex);
    this.#usage = new PackUsage(chunkIndex);
  }

  get addedBytes(): number {
    return this.#sink.addedBytes;
  }

  async finish(): Promise<{ sha256: string; runs: RunCollector }> {
    try {
      const { sha256, runs } = await this.#scan();
      const leave = packsToRewrite(this.#usage.uses(), this.#sink.diskBytes, this.#sink.packs);
      const kept =
        leave.size === 0 ? runs : await rewritePacks(runs, leave, this.#chunkIndex, this.#sink, this.#queue);
      await this.#queue.drain();
      await this.#sink.finish();
      return { sha256, runs: kept };
    } catch (error) {
      await this.#sink.abandon();
      throw error;
    } finally {
      await this.#pool.close();
    }
  }

  async #scan(): Promise<{ sha256: string; runs: RunCollector }> {
    const input = { fd: this.#fd, size: this.#size, extents: this.#options.extents };
    const hash = openHash(input, this.#threads > 0);
    const scan = openScan(input, this.#threads > 0);
    const runs = new RunCollector();
    try {
      let ahead = scan.next();
      for (;;) {
        const batch = await ahead;
        if (!batch.isLast) {
          ahead = scan.next();
          ahead.catch(() => undefined);
        }
        throwIfAborted(this.#options.signal);
        await this.#queue.add(this.#place(batch, runs));
        const storedBytes = this.#sink.storedBytes;
        this.#options.onProgress?.({ position: batch.position, size: this.#size, storedBytes });
        if (batch.isLast) return { sha256: await hash.sha256, runs };
      }
    } finally {
      await Promise.all([scan.close(), hash.close()]);
    }
  }

  /** Finds or gives every chunk its place, and returns those that are new. */
  #place(batch: ScanBatch, runs: RunCollector): NewChunk[] {
    const fresh: NewChunk[] = [];
    for (const [number, offset] of batch.offsets.entries()) {
      const at = number * 32;
      const length = batch.lengths[number] ?? 0;
      const known = this.#chunkIndex.find(batch.hashes, at);
      const ref = known ?? this.#sink.allocate(batch.hashes, at, length);
      if (known === undefined) fresh.push({ ref, offset, length, hash: batch.hashes.subarray(at, at + 32) });
      this.#usage.mark(ref);
      runs.add(offset, length, ref.pack, ref.index);
    }
    return fresh;
  }
}

const chunksOfBatch = 64;

/** The runs of the disk as they are once no chunk of the packs in `leave` is used. */
async function rewritePacks(
  runs: RunCollector,
  leave: ReadonlySet<number>,
  chunkIndex: ChunkIndex,
  sink: PackSink,
  queue: EncodeQueue,
): Promise<RunCollector> {
  const kept = new RunCollector();
  const moved = new Map<number, Map<number, ChunkRef>>();
  let batch: NewChunk[] = [];
  let offset = 0;
  for (const run of runs.runs) {
    offset += run.hole;
    const table = chunkIndex.packs[run.pack]?.table;
    if (!leave.has(run.pack) || table === undefined) {
      kept.add(offset, run.bytes, run.pack, run.first, run.count);
      offset += run.bytes;
      continue;
    }
    const places = moved.get(run.pack) ?? new Map<number, ChunkRef>();
    moved.set(run.pack, places);
    for (let index = run.first; index < run.first + run.count; index += 1) {
      const hash = table.hash(index);
      const length = table.length(index);
      let place = places.get(index);
      if (place === undefined) {
        place = sink.allocate(hash, 0, length);
        places.set(index, place);
        batch.push({ ref: place, offset, length, hash });
      }
      kept.add(offset, length, place.pack, place.index);
      offset += length;
    }
    if (batch.length < chunksOfBatch) continue;
    await queue.add(batch);
    batch = [];
  }
  await queue.add(batch);
  return kept;
}

interface Marks {
  readonly chunks: Uint8Array;
  used: number;
}

class PackUsage {
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
