// Mends a damaged version from good copies: whole blobs from another store or a registry, or single chunks
// from the raw disk. Nothing is believed: what takes a blob's place has its digest.
import { type FileHandle, open } from 'node:fs/promises';
import { readFully } from '../../disk/bytes/byte-source.ts';
import { ImagoError } from '../../domain/error/imago-error.ts';
import { compressFrame, decompressFrame } from '../chunks/chunk-jobs.ts';
import { blockSize, chunkHash, maxChunkSize, nextChunk, zeroRunBlocks } from '../chunks/chunker.ts';
import { type DiskIndex, type IndexPack, readDiskIndex } from '../chunks/disk-index.ts';
import { bytesOfFrame, type MappedPack, mapPack } from '../chunks/disk-map.ts';
import { readTable } from '../chunks/pack-file.ts';
import { PackTable, packTrailer } from '../chunks/pack-format.ts';
import { readDiskManifest, type StoreContext } from '../layout/context.ts';
import type { Digest } from '../layout/digest.ts';
import { type Damage, type VerifyOptions, type VerifyReport, verifyDisk } from './verify-disk.ts';

/** Somewhere else that may have a blob. */
export interface BlobSource {
  /** For messages: which store, which registry. */
  readonly name: string;
  /** The blob's bytes, or `undefined` when it does not have it. */
  read(digest: Digest): Promise<AsyncIterable<Uint8Array> | undefined>;
}

export interface HealOptions extends VerifyOptions {
  /** Tried in order. */
  readonly sources?: readonly BlobSource[] | undefined;
  /** The raw disk that was stored, if it is still there: its good parts mend packs. */
  readonly rawDisk?: string | undefined;
}

export interface HealReport {
  readonly digest: Digest;
  readonly healed: readonly (Damage & { readonly from: string })[];
  /** What is still damaged, as a second look at everything found it. */
  readonly left: VerifyReport;
}

/**
 * Verifies, mends what it can, and verifies again. A version that is whole is left alone. What a blob of the
 * right digest does not mend was wrong from the start, and is left.
 */
export async function healDisk(
  store: StoreContext,
  digest: Digest,
  options: HealOptions,
): Promise<HealReport> {
  const healed: (Damage & { from: string })[] = [];
  for (;;) {
    const report = await verifyDisk(store, digest, options);
    let progress = false;
    for (const damage of report.damages) {
      if (damage.role === 'disk' || healed.some((before) => before.blob === damage.blob)) continue;
      const from =
        (await fromSources(store, damage, options)) ?? (await fromDisk(store, digest, damage, options));
      if (from === undefined) continue;
      healed.push({ ...damage, from });
      progress = true;
    }
    if (!progress) return { digest, healed, left: report };
  }
}

async function fromSources(
  store: StoreContext,
  damage: Damage,
  options: HealOptions,
): Promise<string | undefined> {
  for (const source of options.sources ?? []) {
    const bytes = await source.read(damage.blob).catch(() => undefined);
    if (bytes !== undefined && (await replaceBlob(store, damage.blob, bytes))) return source.name;
  }
  return undefined;
}

async function fromDisk(
  store: StoreContext,
  digest: Digest,
  damage: Damage,
  options: HealOptions,
): Promise<string | undefined> {
  if (damage.role !== 'pack' || options.rawDisk === undefined) return undefined;
  const raw = await open(options.rawDisk, 'r').catch(() => undefined);
  if (raw === undefined) return undefined;
  try {
    const index = await readDiskIndex(store, await readDiskManifest(store, digest)).catch(() => undefined);
    if (index === undefined || (await raw.stat()).size < index.size) return undefined;
    const bytes = rebuiltPack(store, index, damage.blob, raw);
    return (await replaceBlob(store, damage.blob, bytes)) ? options.rawDisk : undefined;
  } finally {
    await raw.close();
  }
}

/** False when the bytes turn out to be others, or cannot be had; the damaged blob stays then. */
export async function replaceBlob(
  store: StoreContext,
  digest: Digest,
  bytes: AsyncIterable<Uint8Array>,
): Promise<boolean> {
  const hold = store.session.hold();
  const writer = await store.blobs.writer(hold);
  try {
    for await (const part of bytes) await writer.write(part);
    await writer.commit(digest);
    return true;
  } catch (error) {
    await writer.abandon();
    if (error instanceof ImagoError && error.code === 'no-space') throw error;
    return false;
  } finally {
    hold.release();
  }
}

interface Place {
  readonly offset: number;
  readonly length: number;
}

async function* rebuiltPack(
  store: StoreContext,
  index: DiskIndex,
  digest: Digest,
  raw: FileHandle,
): AsyncGenerator<Uint8Array> {
  const number = index.packs.findIndex((pack) => pack.digest === digest);
  const pack = index.packs[number];
  if (pack === undefined) return;
  const places = await placesOnDisk(store, index, number, raw);
  const table = await readTable(store, pack).catch(() => tableFromDisk(pack, places, raw));
  const mapped = mapPack(pack, table);
  const damaged = await open(store.blobs.path(digest), 'r').catch(() => undefined);
  try {
    for (let frame = 0; frame < table.frameCount; frame += 1) {
      const kept = await storedFrame(damaged, mapped, frame);
      const stored = kept ?? compressFrame(await rawFrame(mapped, frame, places, raw));
      if (kept === undefined) table.setFrame(frame, chunkHash(stored), stored.length);
      yield stored;
    }
    yield table.bytes;
    yield packTrailer(table);
  } finally {
    await damaged?.close();
  }
}

/** The table as it was, made again from the chunks; what the frames were compressed to is filled in later. */
async function tableFromDisk(
  pack: IndexPack,
  places: ReadonlyMap<number, Place>,
  raw: FileHandle,
): Promise<PackTable> {
  const table = new PackTable();
  for (let chunk = 0; chunk < pack.chunks; chunk += 1) {
    const bytes = await rawChunk(raw, places.get(chunk) ?? missing(pack.digest, chunk));
    table.add(chunkHash(bytes), bytes.length);
  }
  return table;
}

async function storedFrame(
  damaged: FileHandle | undefined,
  pack: MappedPack,
  frame: number,
): Promise<Buffer | undefined> {
  const stored = Buffer.alloc(pack.chunkTable.storedLength(frame));
  if (damaged === undefined || stored.length === 0) return undefined;
  const whole = await readFully(damaged, pack.frameStarts[frame] ?? 0, stored).catch(() => undefined);
  if (whole === undefined) return undefined;
  const bytes = decompressFrame(stored, pack.chunkTable.storedHash(frame), bytesOfFrame(pack, frame));
  return bytes === undefined ? undefined : stored;
}

async function rawFrame(
  pack: MappedPack,
  frame: number,
  places: ReadonlyMap<number, Place>,
  raw: FileHandle,
): Promise<Buffer> {
  const parts: Buffer[] = [];
  for (let chunk = pack.frameChunks[frame] ?? 0; chunk < (pack.frameChunks[frame + 1] ?? 0); chunk += 1) {
    parts.push(await rawChunk(raw, places.get(chunk) ?? missing(pack.digest, chunk)));
  }
  return Buffer.concat(parts);
}

function missing(digest: Digest, chunk: number): never {
  throw new ImagoError('store-corrupt', `nothing has chunk ${chunk} of pack ${digest} any more`);
}

function rawChunk(raw: FileHandle, place: Place): Promise<Buffer> {
  return readFully(raw, place.offset, Buffer.alloc(place.length));
}

/**
 * Where the chunks of a pack lie on the disk. Runs whose pack has lost its table are cut again: the chunker
 * finds the same chunks in the same bytes.
 */
async function placesOnDisk(
  store: StoreContext,
  index: DiskIndex,
  wanted: number,
  raw: FileHandle,
): Promise<Map<number, Place>> {
  const tables = await Promise.all(index.packs.map((pack) => readTable(store, pack).catch(() => undefined)));
  const places = new Map<number, Place>();
  let offset = 0;
  for (const run of index.runs) {
    offset += run.hole;
    const table = tables[run.pack];
    for (let chunk = run.first; chunk < run.first + run.count; chunk += 1) {
      const length = table?.length(chunk) ?? (await cutAgain(raw, offset, index.size));
      if (run.pack === wanted) places.set(chunk, { offset, length });
      offset += length;
    }
  }
  return places;
}

async function cutAgain(raw: FileHandle, offset: number, diskSize: number): Promise<number> {
  const length = Math.min(maxChunkSize + zeroRunBlocks * blockSize, diskSize - offset);
  const bytes = await readFully(raw, offset, Buffer.alloc(Math.max(0, length)));
  return nextChunk(bytes, 0, bytes.length, offset + length >= diskSize).length ?? 0;
}
