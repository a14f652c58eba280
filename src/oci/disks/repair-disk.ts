// Repairs a damaged version blob by blob: from another store or a registry, or from the raw disk. Nothing is trusted:
// only bytes with the digest of a blob replace it.
import { type FileHandle, open } from 'node:fs/promises';
import { readFully } from '../../disk/bytes/byte-source.ts';
import { ImagoError } from '../../domain/error/imago-error.ts';
import { compressFrame, decompressFrame } from '../chunks/chunk-jobs.ts';
import { chunkHash } from '../chunks/chunker.ts';
import { type DiskIndex, readDiskIndex } from '../chunks/disk-index.ts';
import { bytesOfFrame, type MappedPack, mapPack } from '../chunks/disk-map.ts';
import { readTable } from '../chunks/pack-file.ts';
import { PackTable, packTrailer } from '../chunks/pack-format.ts';
import { openScan } from '../chunks/worker-pool.ts';
import { readDiskManifest, type StoreContext } from '../layout/context.ts';
import type { Digest } from '../layout/digest.ts';
import { type Damage, type VerifyOptions, type VerifyReport, verifyDisk } from './verify-disk.ts';

/** Another location that may have a blob. */
export interface BlobSource {
  /** The store or registry, for messages. */
  readonly name: string;
  /** Returns the content of a blob, or `undefined` if the source does not have it. */
  read(digest: Digest): Promise<AsyncIterable<Uint8Array> | undefined>;
}

export interface RepairOptions extends VerifyOptions {
  /** Tried in order. */
  readonly sources?: readonly BlobSource[] | undefined;
}

export interface RepairReport {
  readonly digest: Digest;
  readonly repaired: readonly (Damage & { readonly from: string })[];
  /** What is still damaged, as the last verification found it. */
  readonly left: VerifyReport;
}

/**
 * Verifies, repairs what it can, and verifies again until nothing more can be repaired. An intact version is left
 * alone. Damage that a blob with the right digest does not repair was there from the start, and stays.
 */
export async function repairDisk(
  store: StoreContext,
  digest: Digest,
  options: RepairOptions,
): Promise<RepairReport> {
  const repaired: (Damage & { from: string })[] = [];
  for (;;) {
    const report = await verifyDisk(store, digest, options);
    const before = repaired.length;
    for (const damage of report.damages) {
      if (damage.role === 'disk' || repaired.some(({ blob }) => blob === damage.blob)) continue;
      const from = await repairBlob(store, damage.blob, options.sources ?? []);
      if (from !== undefined) repaired.push({ ...damage, from });
    }
    if (repaired.length === before) return { digest, repaired, left: report };
  }
}

/** Replaces a blob by the first right copy of it, and returns the source's name; `undefined` if none has one. */
export async function repairBlob(
  store: StoreContext,
  digest: Digest,
  sources: readonly BlobSource[],
): Promise<string | undefined> {
  for (const source of sources) {
    const bytes = await source.read(digest).catch(() => undefined);
    if (bytes !== undefined && (await replaceBlob(store, digest, bytes))) return source.name;
  }
  return undefined;
}

/** Returns false, and keeps the damaged blob, if the bytes are different or cannot be read. */
async function replaceBlob(
  store: StoreContext,
  digest: Digest,
  bytes: AsyncIterable<Uint8Array>,
): Promise<boolean> {
  return store.owner.holding(async (hold) => {
    const writer = await store.blobs.writer(hold);
    try {
      for await (const part of bytes) await writer.write(part);
      await writer.commit(digest);
      return true;
    } catch (error) {
      await writer.abandon();
      if (error instanceof ImagoError && error.code === 'no-space') throw error;
      return false;
    }
  });
}

/** Makes the packs of a version again from its raw disk. */
export function rawDiskSource(store: StoreContext, digest: Digest, path: string, name: string): BlobSource {
  return {
    name,
    async read(blob) {
      const index = await readDiskIndex(store, await readDiskManifest(store, digest));
      return index.packs.some((pack) => pack.digest === blob)
        ? packFromDisk(store, index, blob, path)
        : undefined;
    },
  };
}

/** Frames that are intact stay; the others are compressed again, from the same chunks to the same bytes. */
async function* packFromDisk(
  store: StoreContext,
  index: DiskIndex,
  digest: Digest,
  path: string,
): AsyncGenerator<Uint8Array> {
  const number = index.packs.findIndex((pack) => pack.digest === digest);
  const pack = index.packs[number];
  if (pack === undefined) return;
  const damaged = await open(store.blobs.path(digest), 'r').catch(() => undefined);
  const raw = await open(path, 'r');
  try {
    const chunks = await chunksOfPack(index, number, raw.fd);
    const chunkOf = (chunk: number) => chunks.get(chunk) ?? missing(digest, chunk);
    const known = await readTable(store, pack).catch(() => undefined);
    const table = known ?? new PackTable();
    for (let chunk = 0; known === undefined && chunk < pack.chunks; chunk += 1) {
      table.add(chunkOf(chunk).hash, chunkOf(chunk).length);
    }
    const mapped = mapPack(pack, table);
    for (let frame = 0; frame < table.frameCount; frame += 1) {
      const intact = await intactFrame(damaged, mapped, frame);
      if (intact !== undefined) {
        yield intact;
        continue;
      }
      const parts: Buffer[] = [];
      const end = mapped.frameChunks[frame + 1] ?? 0;
      for (let chunk = mapped.frameChunks[frame] ?? 0; chunk < end; chunk += 1) {
        parts.push(await readFully(raw, chunkOf(chunk).offset, Buffer.alloc(chunkOf(chunk).length)));
      }
      const stored = compressFrame(Buffer.concat(parts));
      table.setFrame(frame, chunkHash(stored), stored.length);
      yield stored;
    }
    yield table.bytes;
    yield packTrailer(table);
  } finally {
    await damaged?.close();
    await raw.close();
  }
}

async function intactFrame(
  damaged: FileHandle | undefined,
  pack: MappedPack,
  frame: number,
): Promise<Buffer | undefined> {
  const stored = Buffer.alloc(pack.chunkTable.storedLength(frame));
  if (damaged === undefined || stored.length === 0) return undefined;
  const isRead = await readFully(damaged, pack.frameStarts[frame] ?? 0, stored).catch(() => undefined);
  return isRead && decompressFrame(stored, pack.chunkTable.storedHash(frame), bytesOfFrame(pack, frame))
    ? stored
    : undefined;
}

function missing(digest: Digest, chunk: number): never {
  throw new ImagoError('store-corrupt', `nothing has chunk ${chunk} of pack ${digest}`);
}

interface DiskChunk {
  readonly offset: number;
  readonly length: number;
  readonly hash: Uint8Array;
}

/** Finds the chunks of a pack on the disk: the chunker makes the same chunks of the same bytes. */
async function chunksOfPack(index: DiskIndex, number: number, fd: number): Promise<Map<number, DiskChunk>> {
  const places = index.runs.flatMap(({ pack, first, count }) =>
    Array.from({ length: count }, (_, at) => (pack === number ? first + at : undefined)),
  );
  const chunks = new Map<number, DiskChunk>();
  const scan = openScan({ fd, size: index.size, extents: undefined }, true);
  try {
    for (let next = 0, isLast = false; !isLast; ) {
      const batch = await scan.next();
      for (const [at, offset] of batch.offsets.entries()) {
        const chunk = places[next++];
        if (chunk === undefined) continue;
        const hash = batch.hashes.subarray(at * 32, at * 32 + 32);
        chunks.set(chunk, { offset, length: batch.lengths[at] ?? 0, hash });
      }
      isLast = batch.isLast;
    }
    return chunks;
  } finally {
    await scan.close();
  }
}
