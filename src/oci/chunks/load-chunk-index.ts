// Finds the packs whose chunks a new disk may share, and keeps them from being collected in the meantime: those of
// the versions it is based on first, then of the newest versions, then packs that a put left behind when it
// was killed, so that its next run resumes where it stopped. Only packs that this store made or has checked
// count: a new version must not be built upon chunks that are not what they claim to be.

import { ImagoError } from '../../domain/error/imago-error.ts';
import { readDiskManifest, type StoreContext } from '../layout/context.ts';
import type { Digest } from '../layout/digest.ts';
import type { Descriptor, Manifest } from '../layout/manifest.ts';
import { annotationKeys, mediaTypes } from '../layout/media-types.ts';
import type { StoreHold } from '../layout/owner.ts';
import { ChunkIndex } from './chunk-index.ts';
import { readDiskIndex } from './disk-index.ts';
import { describePack, isTruePack, readCounts, readTable } from './pack-file.ts';
import { openChunkPool } from './worker-pool.ts';

export async function loadChunkIndex(
  store: StoreContext,
  basis: readonly Digest[],
  hold: StoreHold,
): Promise<ChunkIndex> {
  const { manifests, strays } = await store.owner.exclusive(() => choose(store, basis, hold));
  const chunkIndex = new ChunkIndex();
  const seen = new Set<Digest>();
  for (const manifest of manifests) {
    if (chunkIndex.full) return chunkIndex;
    const index = await orNothing(() => readDiskIndex(store, manifest));
    for (const pack of index?.packs ?? []) {
      if (chunkIndex.full || seen.has(pack.digest)) continue;
      seen.add(pack.digest);
      const table = await orNothing(() => readTable(store, pack));
      if (table !== undefined) chunkIndex.addStored(table, pack);
    }
  }
  await addStrays(store, chunkIndex, strays);
  return chunkIndex;
}

/**
 * Whether the store answers for what an entry of index.json leads to: it made the version itself, or checked
 * all of it when it was pulled. Other tools do not write this.
 */
export function isLocallyVerified(entry: Descriptor): boolean {
  return (
    entry.artifactType === mediaTypes.disk && entry.annotations?.[annotationKeys.diskSha256] !== undefined
  );
}

async function choose(store: StoreContext, basis: readonly Digest[], hold: StoreHold) {
  const entries = await store.index.entries();
  const newestFirst = entries.filter((entry) => mayBeDisk(entry)).reverse();
  const vouched = new Set(newestFirst.filter(isLocallyVerified).map((entry) => entry.digest));
  const inOrder = new Set([
    ...basis.filter((one) => vouched.has(one)),
    ...newestFirst.map((entry) => entry.digest),
  ]);
  const manifests: Manifest[] = [];
  const packs = new Set<Digest>();
  for (const digest of inOrder) {
    const manifest = await orNothing(() => readDiskManifest(store, digest));
    if (manifest === undefined) continue;
    if (vouched.has(digest)) manifests.push(manifest);
    for (const layer of manifest.layers) packs.add(layer.digest);
  }
  const strays: Digest[] = [];
  for (const { digest, size } of await store.blobs.list()) {
    if (packs.has(digest)) continue;
    const counts = await orNothing(() => readCounts(store, digest, size));
    if (counts !== undefined) strays.push(digest);
  }
  hold.pin([...packs, ...strays]);
  return { manifests, strays: strays.sort() };
}

function mayBeDisk(entry: Descriptor): boolean {
  return entry.artifactType === undefined || entry.artifactType === mediaTypes.disk;
}

async function addStrays(
  store: StoreContext,
  chunkIndex: ChunkIndex,
  strays: readonly Digest[],
): Promise<void> {
  if (strays.length === 0) return;
  const pool = openChunkPool(store.threads);
  try {
    for (const digest of strays) {
      const pack = await orNothing(() => describePack(store, digest));
      if (chunkIndex.full || pack === undefined || !(await isTruePack(store, pool, pack))) continue;
      chunkIndex.addStored(await readTable(store, pack), pack);
    }
  } finally {
    await pool.close();
  }
}

/** Versions that cannot be read are no help to a new one, and no hindrance. */
async function orNothing<T>(read: () => Promise<T>): Promise<T | undefined> {
  try {
    return await read();
  } catch (error) {
    if (error instanceof ImagoError && error.kind !== 'bug') return undefined;
    throw error;
  }
}
