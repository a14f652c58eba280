// Locks of versions, and the inputs of those that must be built again when mirrors have forgotten them. Both are
// manifests of the store without a subject: garbage collection keeps what they name, no push sends them, and an
// input that several versions share is there once.
import { createReadStream } from 'node:fs';
import { throwIfAborted } from '../async/abort.ts';
import { ImagoError } from '../domain/error/imago-error.ts';
import { describeInput, type Lock } from '../domain/lock/lock.ts';
import type { DiskStore } from '../oci/disks/disk-store.ts';
import { type Digest, digestOf, hexOf, isDigest, parseDigest } from '../oci/layout/digest.ts';
import { tagOf } from '../oci/layout/layout-index.ts';
import {
  contentOf,
  type Descriptor,
  describe,
  encodeJson,
  parseManifestLike,
} from '../oci/layout/manifest.ts';
import { mediaTypes } from '../oci/layout/media-types.ts';
import type { StoreHold } from '../oci/layout/owner.ts';
import { layoutEntry } from '../oci/layout/referrers.ts';
import type { KeptLocks } from '../ports/image-store/image-store.ts';
import type { VersionsContext } from './context.ts';

const lockType = 'application/vnd.imago.lock.v1+json';
const inputsType = 'application/vnd.imago.inputs.v1';
const inputMediaType = 'application/octet-stream';
const maxLock = 64 * 1024 * 1024;
/** Larger inputs are no manifests of container images. */
const maxManifest = 4 * 1024 * 1024;

export function keptLocks(context: Pick<VersionsContext, 'store' | 'findInput'>): KeptLocks {
  async function read(lockDigest: string): Promise<Lock | undefined> {
    const store = await context.store();
    const kept = await store.resolve(lockTag(parseDigest(lockDigest)));
    if (kept === undefined) return undefined;
    const parsed = parseManifestLike(await store.readBlob(kept), kept);
    const layer = parsed.kind === 'manifest' ? parsed.manifest.layers[0] : undefined;
    if (layer === undefined) throw new ImagoError('store-corrupt', `${kept} holds no lock`);
    return JSON.parse((await store.readBlob(layer.digest, maxLock)).toString('utf8')) as Lock;
  }

  return {
    read,
    async keep(lockDigest, lock) {
      const store = await context.store();
      await withHold(store, async (hold) => {
        const bytes = encodeJson(lock);
        await store.blobs.put(bytes, hold);
        await list(
          store,
          lockTag(parseDigest(lockDigest)),
          lockType,
          [describe(bytes, 'application/json')],
          hold,
        );
      });
    },
    async keepInputs(lockDigest, signal) {
      const lock = await read(lockDigest);
      if (lock === undefined)
        throw new ImagoError('store-not-found', `the store keeps no lock ${lockDigest}`);
      const store = await context.store();
      return withHold(store, async (hold) => {
        const { kept, missing } = await takeInputs(context, store, lock, hold, signal);
        await list(store, inputsTag(parseDigest(lockDigest)), inputsType, kept, hold);
        return { count: kept.length, bytes: kept.reduce((sum, { size }) => sum + size, 0), missing };
      });
    },
    async drop(lockDigest) {
      const store = await context.store();
      for (const tag of [lockTag(parseDigest(lockDigest)), inputsTag(parseDigest(lockDigest))])
        await store.index.untag(tag);
    },
    async list() {
      const store = await context.store();
      return (await store.index.entries()).flatMap((entry) => {
        const hex = /^lock-([0-9a-f]{64})$/.exec(tagOf(entry) ?? '')?.[1];
        return hex === undefined ? [] : [`sha256:${hex}`];
      });
    },
  };
}

export function lockTag(lockDigest: Digest): string {
  return `lock-${hexOf(lockDigest)}`;
}

export function inputsTag(lockDigest: Digest): string {
  return `inputs-${hexOf(lockDigest)}`;
}

async function withHold<T>(store: DiskStore, work: (hold: StoreHold) => Promise<T>): Promise<T> {
  const hold = store.owner.hold();
  try {
    return await work(hold);
  } finally {
    hold.release();
  }
}

async function list(
  store: DiskStore,
  tag: string,
  artifactType: string,
  layers: readonly Descriptor[],
  hold: StoreHold,
): Promise<void> {
  const empty = Buffer.from('{}');
  await store.blobs.put(empty, hold);
  const manifest = {
    schemaVersion: 2,
    mediaType: mediaTypes.manifest,
    artifactType,
    config: describe(empty, mediaTypes.empty),
    layers,
  } as const;
  const bytes = encodeJson(manifest);
  await store.blobs.put(bytes, hold);
  const entry = layoutEntry(describe(bytes, mediaTypes.manifest), { kind: 'manifest', manifest }, false);
  await store.index.tag(tag, entry, true);
}

async function takeInputs(
  { findInput }: Pick<VersionsContext, 'findInput'>,
  store: DiskStore,
  lock: Lock,
  hold: StoreHold,
  signal: AbortSignal,
): Promise<{ readonly kept: readonly Descriptor[]; readonly missing: readonly string[] }> {
  const kept = new Map<Digest, Descriptor>();
  const missing = new Set<string>();
  const take = async (digest: Digest): Promise<boolean> => {
    if (kept.has(digest)) return true;
    throwIfAborted(signal);
    const size = await keepBlob(store, digest, findInput, hold);
    if (size === undefined) return false;
    kept.set(digest, { mediaType: inputMediaType, digest, size });
    return true;
  };
  for (const input of lock.inputs) {
    const digest: Digest = `sha256:${input.sha256}`;
    const whole = (await take(digest)) && (await allOf(await partsOf(store, digest, input.source), take));
    if (!whole) missing.add(describeInput(input));
  }
  const sorted = [...kept.values()].sort((a, b) => (a.digest < b.digest ? -1 : 1));
  return { kept: sorted, missing: [...missing] };
}

async function allOf<T>(items: readonly T[], holds: (item: T) => Promise<boolean>): Promise<boolean> {
  let all = true;
  for (const item of items) all = (await holds(item)) && all;
  return all;
}

/** Returns the size of the blob once the store has it, or `undefined` if no source does. */
async function keepBlob(
  store: DiskStore,
  digest: Digest,
  findInput: VersionsContext['findInput'],
  hold: StoreHold,
): Promise<number | undefined> {
  const { blobs } = store;
  const known = await store.owner.exclusive(async () => {
    const size = await blobs.size(digest);
    if (size !== undefined) hold.pin([digest]);
    return size;
  });
  if (known !== undefined) return known;
  const path = await findInput?.(hexOf(digest));
  if (path === undefined) return undefined;
  const writer = await blobs.writer(hold);
  try {
    for await (const piece of createReadStream(path, { highWaterMark: 1 << 20 })) await writer.write(piece);
    return (await writer.commit(digest)).size;
  } catch (error) {
    await writer.abandon();
    throw error;
  }
}

/** Container images are known by their manifest; without its parts it is of no use. */
async function partsOf(store: DiskStore, digest: Digest, source: string): Promise<readonly Digest[]> {
  if (!/^(?:oci|layout|archive):/.test(source)) return [];
  const bytes = await store.readBlob(digest, maxManifest);
  if (digestOf(bytes) !== digest) return [];
  return contentOf(parseManifestLike(bytes, digest))
    .map((part) => part.digest)
    .filter(isDigest);
}
