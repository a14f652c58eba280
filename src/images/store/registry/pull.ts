// Copies a version and what is attached to it from a registry: only what the store does not have, each blob
// continued where an earlier try stopped, and nothing listed before it is whole and checked.
import { type FileHandle, open, rm, statfs } from 'node:fs/promises';
import { join } from 'node:path';
import { ImagoError } from '../../../domain/errors.ts';
import { throwIfAborted } from '../../run-tool.ts';
import { type Digest, hexOf } from '../digest.ts';
import type { DiskStore } from '../disk-store.ts';
import { withFileLock } from '../file-lock.ts';
import { fileSize, hashFile, storeError } from '../files.ts';
import type { BlobSource } from '../heal-disk.ts';
import { mediaTypes } from '../media-types.ts';
import {
  contentOf,
  type Descriptor,
  describe,
  isManifestType,
  type ManifestLike,
  parseManifestLike,
} from '../oci.ts';
import { layoutEntry, refreshFallback } from '../referrers.ts';
import type { StoreHold } from '../session.ts';
import type { StoreContext } from '../store-context.ts';
import { objectLockPath } from '../store-paths.ts';
import { mapLimit } from './map-limit.ts';
import type { TransferProgress } from './push.ts';
import type { RegistryClient } from './registry-client.ts';
import { findRemoteReferrers } from './remote-referrers.ts';
import { withRetry } from './retry.ts';

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

interface PulledManifest {
  readonly descriptor: Descriptor;
  readonly bytes: Buffer;
  readonly parsed: ManifestLike;
  readonly subject: Digest | undefined;
  readonly tag: string | undefined;
}

interface Found {
  readonly manifests: readonly PulledManifest[];
  readonly plan: PullPlan;
}

/** What a pull would receive. Writes nothing. `registry-not-found` when there is no such version. */
export async function planPull(
  store: DiskStore,
  source: PullSource,
  options: PullOptions = {},
): Promise<PullPlan> {
  return (await findAll(store.context, source, options)).plan;
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
  const context = store.context;
  const hold = options.hold ?? store.hold();
  try {
    const { manifests, plan } = await findAll(context, source, options);
    await checkSpace(context, plan.bytesToReceive);
    let done = 0;
    await mapLimit(plan.missing, source.client.connections, async (blob) => {
      await pullBlob(context, source, blob, hold, options.signal);
      done += blob.size;
      options.onProgress?.({ done, total: plan.bytesToReceive });
    });
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
  const isDisk =
    version.parsed.kind === 'manifest' && version.parsed.manifest.artifactType === mediaTypes.disk;
  if (!isDisk) {
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
    const entry = layoutEntry(manifest.descriptor, manifest.parsed);
    const name = manifest.subject === undefined ? tag : manifest.tag;
    if (name === undefined) await store.index.add(entry);
    else await store.index.tag(name, entry, manifest.subject !== undefined);
  }
  const subjects = new Set(
    manifests.flatMap((manifest) => (manifest.subject === undefined ? [] : [manifest.subject])),
  );
  for (const subject of subjects) await refreshFallback(store, subject);
}

async function pullBlob(
  store: StoreContext,
  source: PullSource,
  blob: { readonly digest: Digest; readonly size: number },
  hold: StoreHold,
  signal: AbortSignal | undefined,
): Promise<void> {
  const lock = objectLockPath(store.paths, `pull ${blob.digest}`);
  await withFileLock(lock, { signal, timeoutMs: Number.POSITIVE_INFINITY }, async () => {
    const path = join(store.paths.partial, hexOf(blob.digest));
    if ((await hashFile(store.blobs.path(blob.digest))) !== blob.digest) {
      await withRetry(source.client.retry, signal, () => download(source, blob, path, signal));
      await store.blobs.adopt(path, blob.digest, blob.size, hold);
      return;
    }
    await withFileLock(store.paths.lock, {}, async () => hold.pin([blob.digest]));
  });
}

/** One try to complete the file; it keeps what it got for the next, unless that turned out to be wrong. */
async function download(
  { client, repository }: PullSource,
  blob: { readonly digest: Digest; readonly size: number },
  path: string,
  signal: AbortSignal | undefined,
): Promise<void> {
  const there = (await fileSize(path)) ?? 0;
  const from = there < blob.size ? there : 0;
  if (there !== blob.size) {
    const response = await client.openBlob(repository, blob.digest, from, signal);
    if (response === undefined) {
      throw new ImagoError(
        'registry-not-found',
        `${client.registry}/${repository} has no blob ${blob.digest}`,
      );
    }
    const at = response.status === 206 ? from : 0;
    await receive(response.body, path, at, blob.size, signal);
  }
  if ((await hashFile(path)) === blob.digest) return;
  const size = await fileSize(path);
  if (size !== undefined && size < blob.size) {
    throw new ImagoError(
      'registry-failed',
      `${client.registry} sent ${size} of ${blob.size} bytes of ${blob.digest}`,
    );
  }
  await rm(path, { force: true });
  throw new ImagoError(
    'registry-corrupt',
    `${client.registry} sent other bytes than those of ${blob.digest}`,
  );
}

async function receive(
  body: AsyncIterable<Buffer> & { destroy(): void },
  path: string,
  from: number,
  size: number,
  signal: AbortSignal | undefined,
): Promise<void> {
  let handle: FileHandle | undefined;
  let at = from;
  try {
    handle = await open(path, from === 0 ? 'w' : 'r+');
    for await (const part of body) {
      throwIfAborted(signal);
      if (at + part.length > size) {
        await handle.truncate(0);
        throw new ImagoError('registry-corrupt', `more than the blob's ${size} bytes arrived`);
      }
      await handle.write(part, 0, part.length, at);
      at += part.length;
    }
    await handle.sync();
  } catch (error) {
    body.destroy();
    throwIfAborted(signal);
    const known = storeError(error, 'writing to the store');
    if (known instanceof ImagoError) throw known;
    throw new ImagoError('registry-failed', 'the connection was lost in the middle of a blob', {
      cause: error,
    });
  } finally {
    await handle?.close();
  }
}

async function checkSpace(store: StoreContext, needed: number): Promise<void> {
  const { bavail, bsize } = await statfs(store.paths.root);
  if (bavail * bsize >= needed) return;
  throw new ImagoError(
    'no-space',
    `the store needs ${needed} bytes, and its file system has ${bavail * bsize} free`,
  );
}
