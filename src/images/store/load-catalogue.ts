// Finds the packs whose chunks a new disk may share, and keeps them from being collected meanwhile: those of
// the versions it is based on first, then of the newest versions, then packs that a put left behind when it
// was killed, so that its next run goes on where it stopped.
import { type FileHandle, open } from 'node:fs/promises';
import { ImagoError } from '../../domain/errors.ts';
import { readFully } from '../byte-source.ts';
import { ChunkCatalogue, type StoredPack } from './chunk-catalogue.ts';
import { chunkHash } from './chunker.ts';
import type { Digest } from './digest.ts';
import type { DiskIndex, IndexPack } from './disk-index.ts';
import { withFileLock } from './file-lock.ts';
import { hashFile, systemCode } from './files.ts';
import { mediaTypes } from './media-types.ts';
import type { Manifest } from './oci.ts';
import { PackTable, readTrailer, tableOffset, tableRecordSize, trailerSize } from './pack-format.ts';
import type { StoreHold } from './session.ts';
import { readDiskIndex, readDiskManifest, type StoreContext } from './store-context.ts';

export async function loadCatalogue(
  store: StoreContext,
  basis: readonly Digest[],
  hold: StoreHold,
): Promise<ChunkCatalogue> {
  const { manifests, strays } = await withFileLock(store.paths.lock, {}, () => choose(store, basis, hold));
  const catalogue = new ChunkCatalogue();
  const seen = new Set<Digest>();
  for (const manifest of manifests) {
    if (catalogue.full) return catalogue;
    const index = await readableOr(undefined, () => readDiskIndex(store, manifest));
    for (const pack of packsOf(index)) {
      if (catalogue.full || seen.has(pack.digest)) continue;
      seen.add(pack.digest);
      const table = await readableOr(undefined, () => readTable(store, pack));
      if (table !== undefined) catalogue.addStored(table, pack);
    }
  }
  for (const stray of strays) {
    if (catalogue.full || seen.has(stray)) continue;
    const found = await readStray(store, stray);
    if (found !== undefined) catalogue.addStored(found.table, found.stored);
  }
  return catalogue;
}

/** Reads the table of a pack and checks it; `store-corrupt` or `store-not-found` when it cannot be had. */
export async function readTable(store: StoreContext, pack: IndexPack): Promise<PackTable> {
  const bytes = await readEnd(store, pack.digest, pack.size, trailerSize + pack.chunks * tableRecordSize);
  const table = bytes.subarray(0, pack.chunks * tableRecordSize);
  if (chunkHash(table).toString('hex') === pack.table) return new PackTable(table);
  throw new ImagoError('store-corrupt', `the table of pack ${pack.digest} is damaged`, {
    details: { blob: pack.digest },
  });
}

async function choose(store: StoreContext, basis: readonly Digest[], hold: StoreHold) {
  const listed = (await store.index.entries())
    .filter((entry) => entry.artifactType === mediaTypes.disk || entry.artifactType === undefined)
    .map((entry) => entry.digest)
    .reverse();
  const manifests: Manifest[] = [];
  const packs = new Set<Digest>();
  for (const digest of new Set([...basis, ...listed])) {
    const manifest = await readableOr(undefined, () => readDiskManifest(store, digest));
    if (manifest === undefined) continue;
    manifests.push(manifest);
    for (const layer of manifest.layers) if (layer.mediaType === mediaTypes.diskPack) packs.add(layer.digest);
  }
  const strays: Digest[] = [];
  for (const { digest, size } of await store.blobs.list()) {
    if (packs.has(digest) || size <= trailerSize) continue;
    if ((await trailerCount(store, digest, size)) !== undefined) strays.push(digest);
  }
  hold.pin([...packs, ...strays]);
  return { manifests, strays: strays.sort() };
}

function packsOf(index: DiskIndex | undefined): readonly IndexPack[] {
  return index?.packs ?? [];
}

async function readStray(
  store: StoreContext,
  digest: Digest,
): Promise<{ table: PackTable; stored: StoredPack } | undefined> {
  const size = await store.blobs.size(digest);
  if (size === undefined || (await hashFile(store.blobs.path(digest))) !== digest) return undefined;
  const chunks = await trailerCount(store, digest, size);
  if (chunks === undefined) return undefined;
  const bytes = await readEnd(store, digest, size, trailerSize + chunks * tableRecordSize);
  const table = new PackTable(bytes.subarray(0, chunks * tableRecordSize));
  return { table, stored: { digest, size, chunks, table: chunkHash(table.bytes).toString('hex') } };
}

async function trailerCount(store: StoreContext, digest: Digest, size: number): Promise<number | undefined> {
  const count = readTrailer(await readEnd(store, digest, size, trailerSize));
  return count === undefined || tableOffset(size, count) < 0 ? undefined : count;
}

async function readEnd(store: StoreContext, digest: Digest, size: number, length: number): Promise<Buffer> {
  let handle: FileHandle | undefined;
  try {
    handle = await open(store.blobs.path(digest), 'r');
    if ((await handle.stat()).size !== size) {
      throw new ImagoError('store-corrupt', `blob ${digest} does not have ${size} bytes`);
    }
    return await readFully(handle, size - length, Buffer.alloc(length));
  } catch (error) {
    if (systemCode(error) !== 'ENOENT') throw error;
    throw new ImagoError('store-not-found', `the store has no blob ${digest}`, { details: { blob: digest } });
  } finally {
    await handle?.close();
  }
}

/** Versions that cannot be read are no help to a new one, and no hindrance. */
async function readableOr<T>(otherwise: T, read: () => Promise<T>): Promise<T> {
  try {
    return await read();
  } catch (error) {
    if (error instanceof ImagoError && error.kind !== 'bug') return otherwise;
    throw error;
  }
}
