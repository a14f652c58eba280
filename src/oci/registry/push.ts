// Copies a version and what is attached to it into a registry: only what is missing there, blobs before the
// manifests that name them, so that nothing can be seen before it is whole.
import { createReadStream } from 'node:fs';
import { throwIfAborted } from '../../async/abort.ts';
import { mapLimit } from '../../async/map-limit.ts';
import { ImagoError } from '../../domain/error/imago-error.ts';
import type { DiskStore } from '../disks/disk-store.ts';
import { corrupt } from '../layout/blob-folder.ts';
import { holdVersion, type StoreContext } from '../layout/context.ts';
import { type Digest, hashFile } from '../layout/digest.ts';
import { tagOf } from '../layout/layout-index.ts';
import {
  contentOf,
  type Descriptor,
  isManifestType,
  maxManifestSize,
  parseManifestLike,
} from '../layout/manifest.ts';
import { describeReferrer, listReferrers, subjectOfTag } from '../layout/referrers.ts';
import type { RegistryClient } from './client.ts';
import { addToFallback, mergeCosign } from './remote-referrers.ts';
import { uploadBlob } from './upload-blob.ts';

export interface PushTarget {
  readonly client: RegistryClient;
  readonly repository: string;
  /** Points at the version once it is whole. Without one it is reachable by digest only. */
  readonly tag?: string | undefined;
}

export interface PushOptions {
  /** Whether to push what is attached, too. Yes unless given. */
  readonly referrers?: boolean | undefined;
  /** Other repositories of the registry that may have some of the blobs. */
  readonly mountFrom?: readonly string[] | undefined;
  readonly signal?: AbortSignal | undefined;
  readonly onProgress?: ((progress: TransferProgress) => void) | undefined;
}

export interface TransferProgress {
  readonly done: number;
  readonly total: number;
}

export interface PushPlan {
  readonly digest: Digest;
  /** Every manifest that will be there, the version first. */
  readonly manifests: readonly Digest[];
  readonly missing: readonly { readonly digest: Digest; readonly size: number }[];
  /** What has to be sent: the missing blobs and all manifests. */
  readonly bytesToSend: number;
  /** What the whole takes in the registry. */
  readonly bytesTotal: number;
}

export interface PushResult {
  readonly digest: Digest;
  readonly bytesSent: number;
  readonly blobsSent: number;
  readonly blobsMounted: number;
  readonly blobsPresent: number;
}

interface PushedManifest {
  readonly descriptor: Descriptor;
  readonly bytes: Buffer;
  readonly subject: Digest | undefined;
  readonly cosignTags: readonly string[];
}

/** What a push would send. Sends nothing. `store-not-found` when the store does not have the version. */
export async function planPush(
  store: DiskStore,
  digest: Digest,
  target: PushTarget,
  options: PushOptions = {},
): Promise<PushPlan> {
  const { manifests, blobs } = await collect(store, digest, options.referrers ?? true);
  const { client, repository } = target;
  const sizes = await mapLimit(blobs, client.connections, (blob) =>
    client.blobSize(repository, blob.digest, options.signal),
  );
  const missing = blobs.filter((blob, number) => sizes[number] !== blob.size);
  const manifestBytes = manifests.reduce((sum, manifest) => sum + manifest.bytes.length, 0);
  const sum = (some: readonly Descriptor[]) => some.reduce((total, blob) => total + blob.size, 0);
  return {
    digest,
    manifests: manifests.map((manifest) => manifest.descriptor.digest),
    missing: missing.map((blob) => ({ digest: blob.digest, size: blob.size })),
    bytesToSend: sum(missing) + manifestBytes,
    bytesTotal: sum(blobs) + manifestBytes,
  };
}

/**
 * Pushes the version. Doing it again sends only what has become missing. A push that dies has left blobs that
 * the next one finds. `store-corrupt` when a blob of the store turns out to be damaged: it is not sent.
 */
export async function push(
  store: DiskStore,
  digest: Digest,
  target: PushTarget,
  options: PushOptions = {},
): Promise<PushResult> {
  const context = store;
  const hold = store.owner.hold();
  try {
    await holdVersion(context, digest, hold);
    const plan = await planPush(store, digest, target, options);
    const counts = { sent: 0, mounted: 0, present: 0 };
    let bytesSent = 0;
    let done = 0;
    await mapLimit(plan.missing, target.client.connections, async (blob) => {
      const uploaded = await pushBlob(context, target, blob, options);
      counts[uploaded.how] += 1;
      bytesSent += uploaded.bytesSent;
      done += blob.size;
      options.onProgress?.({ done, total: plan.bytesToSend });
    });
    const { manifests, blobs } = await collect(context, digest, options.referrers ?? true);
    for (const manifest of manifests) {
      throwIfAborted(options.signal);
      bytesSent += await pushManifest(
        target,
        manifest,
        manifest.descriptor.digest === digest,
        options.signal,
      );
    }
    options.onProgress?.({ done: plan.bytesToSend, total: plan.bytesToSend });
    return {
      digest,
      bytesSent,
      blobsSent: counts.sent,
      blobsMounted: counts.mounted,
      blobsPresent: counts.present + blobs.length - plan.missing.length,
    };
  } finally {
    hold.release();
  }
}

async function pushBlob(
  store: StoreContext,
  target: PushTarget,
  blob: { readonly digest: Digest; readonly size: number },
  options: PushOptions,
) {
  const { digest, size } = blob;
  const path = store.blobs.path(digest);
  if ((await hashFile(path)) !== digest) throw corrupt(digest, 'it was about to be pushed');
  return uploadBlob(
    target.client,
    target.repository,
    {
      digest,
      size,
      open: (from, to) => createReadStream(path, { start: from, end: to - 1, highWaterMark: 1 << 18 }),
    },
    { signal: options.signal, ...(options.mountFrom === undefined ? {} : { mountFrom: options.mountFrom }) },
  );
}

/** Returns the bytes sent. What is recorded as pushed has been read back. */
async function pushManifest(
  { client, repository, tag }: PushTarget,
  manifest: PushedManifest,
  isVersion: boolean,
  signal: AbortSignal | undefined,
): Promise<number> {
  const { descriptor, bytes, subject } = manifest;
  const there = await client.manifest(repository, descriptor.digest, signal);
  let sent = 0;
  if (there === undefined || subject !== undefined) {
    const { knowsSubject } = await client.putManifest(
      repository,
      descriptor.digest,
      { bytes, mediaType: descriptor.mediaType },
      signal,
    );
    sent += bytes.length;
    if (subject !== undefined && !knowsSubject) {
      await addToFallback(client, repository, subject, [descriptor], signal);
    }
  }
  for (const cosignTag of manifest.cosignTags) {
    const merged = await mergeCosign(client, repository, cosignTag, bytes, signal);
    if (merged === undefined) continue;
    await client.putManifest(
      repository,
      cosignTag,
      { bytes: merged, mediaType: descriptor.mediaType },
      signal,
    );
    sent += merged.length;
  }
  if (isVersion && tag !== undefined) {
    await client.putManifest(repository, tag, { bytes, mediaType: descriptor.mediaType }, signal);
    sent += bytes.length;
  }
  const readBack = await client.manifest(
    repository,
    isVersion && tag !== undefined ? tag : descriptor.digest,
    signal,
  );
  if (readBack?.digest === descriptor.digest) return sent;
  throw new ImagoError(
    'registry-failed',
    `${client.registry} does not show ${descriptor.digest} after storing it`,
  );
}

/** The version's manifest, those attached to it, theirs in turn, and every blob that they name. */
async function collect(store: StoreContext, digest: Digest, withReferrers: boolean) {
  const entries = await store.index.entries();
  const manifests: PushedManifest[] = [];
  const blobs = new Map<Digest, Descriptor>();
  const queue: { digest: Digest; subject: Digest | undefined }[] = [{ digest, subject: undefined }];
  for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
    const current = next;
    if (manifests.some((manifest) => manifest.descriptor.digest === current.digest)) continue;
    const bytes = await store.blobs.read(current.digest, maxManifestSize);
    const parsed = parseManifestLike(bytes, `manifest ${current.digest}`);
    const entry = entries.find((candidate) => candidate.digest === current.digest);
    const mediaType =
      (parsed.kind === 'manifest' ? parsed.manifest.mediaType : parsed.index.mediaType) ??
      entry?.mediaType ??
      '';
    const cosignTags = entries
      .filter((candidate) => candidate.digest === current.digest)
      .map((candidate) => tagOf(candidate) ?? '')
      .filter((tag) => subjectOfTag(tag) !== undefined);
    const descriptor = describeReferrer({ mediaType, digest: current.digest, size: bytes.length }, parsed);
    manifests.push({ descriptor, bytes, subject: current.subject, cosignTags });
    for (const part of contentOf(parsed)) if (!isManifestType(part.mediaType)) blobs.set(part.digest, part);
    if (!withReferrers) continue;
    for (const referrer of await listReferrers(store, current.digest)) {
      queue.push({ digest: referrer.digest, subject: current.digest });
    }
  }
  return { manifests, blobs: [...blobs.values()] };
}
