// Copies a version and what is attached to it from a registry: only what the store does not have, each blob
// continued where an earlier try stopped, and nothing listed before it is whole and checked.

import { throwIfAborted } from '../../async/abort.ts';
import { mapLimit } from '../../async/map-limit.ts';
import { ImagoError } from '../../domain/error/imago-error.ts';
import { requireSpace } from '../../host/files/free-space.ts';
import { readDiskIndex } from '../chunks/disk-index.ts';
import { isLocallyVerified } from '../chunks/load-chunk-index.ts';
import { isTruePack } from '../chunks/pack-file.ts';
import { openChunkPool } from '../chunks/worker-pool.ts';
import type { DiskStore } from '../disks/disk-store.ts';
import type { BlobSource } from '../disks/repair-disk.ts';
import { readManifestLike, type StoreContext, worthThreads } from '../layout/context.ts';
import type { Digest } from '../layout/digest.ts';
import {
  contentOf,
  type Descriptor,
  describe,
  isManifestType,
  type Manifest,
  parseManifestLike,
} from '../layout/manifest.ts';
import { mediaTypes } from '../layout/media-types.ts';
import type { StoreHold } from '../layout/owner.ts';
import { layoutEntry, refreshFallback } from '../layout/referrers.ts';
import { maxReferrers, type RegistryClient, tooManyReferrers } from './client.ts';
import { downloadBlob } from './download-blob.ts';
import type { TransferProgress } from './push.ts';
import { findRemoteReferrers } from './remote-referrers.ts';
import { type PulledManifest, type RemoteVersion, remoteVersion } from './remote-version.ts';

export interface PullSource {
  readonly client: RegistryClient;
  readonly repository: string;
  /** A tag or a digest. */
  readonly reference: string;
}

export interface PullOptions {
  /** Whether to pull what is attached, too. Yes unless given. */
  readonly referrers?: boolean | undefined;
  /** Listed in the store under this tag. */
  readonly tag?: string | undefined;
  /** Keeps what is pulled until the caller has recorded it. */
  readonly hold?: StoreHold | undefined;
  /** Throws to refuse the version, before any of its disk is fetched. */
  readonly admit?: ((version: RemoteVersion) => Promise<void>) | undefined;
  readonly signal?: AbortSignal | undefined;
  readonly onProgress?: ((progress: TransferProgress) => void) | undefined;
}

export interface PullPlan {
  readonly digest: Digest;
  readonly manifests: readonly Digest[];
  readonly missing: readonly { readonly digest: Digest; readonly size: number }[];
  /** What has to be received, of `bytesTotal` that the whole has. */
  readonly bytesToReceive: number;
  readonly bytesTotal: number;
}

export interface PullResult {
  readonly digest: Digest;
  readonly bytesReceived: number;
  readonly blobsReceived: number;
}

interface Found {
  readonly version: Manifest;
  readonly manifests: readonly PulledManifest[];
  readonly plan: PullPlan;
}

/** What a pull would receive. Writes nothing. `registry-not-found` when there is no such version. */
export async function planPull(
  store: DiskStore,
  source: PullSource,
  options: PullOptions = {},
): Promise<PullPlan> {
  return (await findAll(store, source, options)).plan;
}

/**
 * Pulls the version. One that the store has whole already costs only its manifests. `registry-corrupt` when
 * what arrives does not have its digest, however often it is asked for.
 */
export async function pull(
  store: DiskStore,
  source: PullSource,
  options: PullOptions = {},
): Promise<PullResult> {
  const context = store;
  const hold = options.hold ?? store.owner.hold();
  try {
    const { manifests, version, plan } = await findAll(context, source, options);
    await options.admit?.(remoteVersion(source, plan.digest, version, manifests, options.signal));
    await requireSpace(context.paths.root, plan.bytesToReceive, 'The version');
    let done = 0;
    await mapLimit(plan.missing, source.client.connections, async (blob) => {
      await downloadBlob(context, source, blob, hold, options.signal);
      done += blob.size;
      options.onProgress?.({ done, total: plan.bytesToReceive });
    });
    await checkPulledPacks(context, version, options.signal);
    await listAll(context, manifests, hold, options.tag);
    return { digest: plan.digest, bytesReceived: done, blobsReceived: plan.missing.length };
  } finally {
    if (options.hold === undefined) hold.release();
  }
}

/** A repository as a source for healing. */
export function registrySource(client: RegistryClient, repository: string): BlobSource {
  return {
    name: `${client.registry}/${repository}`,
    async read(digest) {
      const manifest = await client.manifest(repository, digest).catch(() => undefined);
      if (manifest !== undefined) return oneBuffer(manifest.bytes);
      return (await client.openBlob(repository, digest, 0))?.body;
    },
  };
}

async function* oneBuffer(bytes: Buffer): AsyncGenerator<Buffer> {
  yield bytes;
}

async function findAll(store: StoreContext, source: PullSource, options: PullOptions): Promise<Found> {
  const { client, repository, reference } = source;
  const version = await fetchManifest(source, reference, undefined, undefined, options.signal);
  const disk = version.parsed.kind === 'manifest' ? version.parsed.manifest : undefined;
  if (disk?.artifactType !== mediaTypes.disk) {
    throw new ImagoError(
      'input-invalid',
      `${client.registry}/${repository}: ${reference} is not a disk of Imago`,
    );
  }
  const manifests = [version];
  for (let number = 0; number < manifests.length && (options.referrers ?? true); number += 1) {
    const digest = manifests[number]?.descriptor.digest ?? version.descriptor.digest;
    for (const { descriptor, tag } of await findRemoteReferrers(client, repository, digest, options.signal)) {
      if (manifests.some((manifest) => manifest.descriptor.digest === descriptor.digest)) continue;
      if (manifests.length > maxReferrers) throw tooManyReferrers(`${client.registry}/${repository}`);
      manifests.push(await fetchManifest(source, descriptor.digest, digest, tag, options.signal));
    }
  }
  const blobs = new Map<Digest, Descriptor>();
  for (const { parsed } of manifests) {
    for (const part of contentOf(parsed)) if (!isManifestType(part.mediaType)) blobs.set(part.digest, part);
  }
  const missing: Descriptor[] = [];
  for (const blob of blobs.values()) {
    if ((await store.blobs.size(blob.digest)) !== blob.size) missing.push(blob);
  }
  const manifestBytes = manifests.reduce((sum, manifest) => sum + manifest.bytes.length, 0);
  const sum = (some: Iterable<Descriptor>) => [...some].reduce((total, blob) => total + blob.size, 0);
  return {
    version: disk,
    manifests,
    plan: {
      digest: version.descriptor.digest,
      manifests: manifests.map((manifest) => manifest.descriptor.digest),
      missing: missing.map(({ digest, size }) => ({ digest, size })),
      bytesToReceive: sum(missing),
      bytesTotal: sum(blobs.values()) + manifestBytes,
    },
  };
}

async function fetchManifest(
  { client, repository }: PullSource,
  reference: string,
  subject: Digest | undefined,
  tag: string | undefined,
  signal: AbortSignal | undefined,
): Promise<PulledManifest> {
  const manifest = await client.manifest(repository, reference, signal);
  if (manifest === undefined) {
    throw new ImagoError('registry-not-found', `${client.registry}/${repository} has no ${reference}`);
  }
  const parsed = parseManifestLike(manifest.bytes, `${client.registry}/${repository}: ${reference}`);
  return {
    descriptor: describe(manifest.bytes, manifest.mediaType),
    bytes: manifest.bytes,
    parsed,
    subject,
    tag,
  };
}

/** Attachments first, the version last: once it is listed, all of it is there. */
async function listAll(
  store: StoreContext,
  manifests: readonly PulledManifest[],
  hold: StoreHold,
  tag: string | undefined,
): Promise<void> {
  for (const manifest of manifests.toReversed()) {
    await store.blobs.put(manifest.bytes, hold);
    const entry = layoutEntry(manifest.descriptor, manifest.parsed, manifest.subject === undefined);
    const name = manifest.subject === undefined ? tag : manifest.tag;
    if (name === undefined) await store.index.add(entry);
    else await store.index.tag(name, entry, manifest.subject !== undefined);
  }
  const subjects = new Set(
    manifests.flatMap((manifest) => (manifest.subject === undefined ? [] : [manifest.subject])),
  );
  for (const subject of subjects) await refreshFallback(store, subject);
}

/**
 * Checks not only the digests of a version's packs, but also that each chunk in them is what its pack's table
 * says: later versions will share these chunks by their hashes. Packs of versions that the store answers for
 * already are left out. `registry-corrupt` when one is not true.
 */
async function checkPulledPacks(
  store: StoreContext,
  manifest: Manifest,
  signal: AbortSignal | undefined,
): Promise<void> {
  const vouched = new Set<Digest>();
  for (const entry of (await store.index.entries()).filter(isLocallyVerified)) {
    const parsed = await readManifestLike(store, entry.digest).catch(() => undefined);
    for (const part of parsed === undefined ? [] : contentOf(parsed)) vouched.add(part.digest);
  }
  const packs = (await readDiskIndex(store, manifest)).packs.filter((pack) => !vouched.has(pack.digest));
  const bytes = packs.reduce((sum, pack) => sum + pack.size, 0);
  const pool = openChunkPool(bytes < worthThreads ? 0 : store.threads);
  try {
    await mapLimit(packs, pool.width, async (pack) => {
      throwIfAborted(signal);
      if (await isTruePack(store, pool, pack)) return;
      throw new ImagoError('registry-corrupt', `pack ${pack.digest} does not hold what it says`, {
        retryable: false,
      });
    });
  } finally {
    await pool.close();
  }
}
