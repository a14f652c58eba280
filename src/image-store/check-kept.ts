// Reads what is kept for building a version again, its lock and its inputs, and mends what is damaged: from the build
// cache, else from where the lock says that the input came from.
import { createReadStream } from 'node:fs';
import { throwIfAborted } from '../async/abort.ts';
import { ImagoError } from '../domain/error/imago-error.ts';
import { describeInput, type Lock } from '../domain/lock/lock.ts';
import { formatBytes } from '../domain/value/bytes.ts';
import type { Json } from '../domain/value/json.ts';
import type { DiskStore } from '../oci/disks/disk-store.ts';
import { replaceBlob } from '../oci/disks/repair-disk.ts';
import { type Digest, hashFile, hexOf, parseDigest } from '../oci/layout/digest.ts';
import { type Descriptor, parseManifestLike } from '../oci/layout/manifest.ts';
import type { ImageCheck, KeptLocks, Watch } from '../ports/image-store/image-store.ts';
import type { VersionsContext } from './context.ts';
import { inputsTag, lockTag } from './kept-locks.ts';

export type KeptContext = Pick<VersionsContext, 'store' | 'findInput' | 'fetchInput'>;

/** A version of which nothing is kept has no damage here. */
export async function checkKept(
  context: KeptContext,
  locks: Pick<KeptLocks, 'read' | 'keepInputs'>,
  { lockDigest, heal }: { readonly lockDigest: string; readonly heal: boolean },
  watch: Watch,
): Promise<ImageCheck> {
  const store = await context.store();
  const digest = parseDigest(lockDigest);
  const found: string[] = [];
  const healed: string[] = [];
  const left: string[] = [];
  const lock = await readLock(locks, lockDigest, (damage) => {
    found.push(damage);
    left.push(damage);
  });
  if (lock === undefined || (await store.resolve(inputsTag(digest))) === undefined) {
    return { bytesRead: 0, found, healed, left };
  }

  let list = await readList(store, digest);
  if (list === undefined) {
    const damage = `inputs: the list of the inputs of ${lockTag(digest)} is damaged`;
    found.push(damage);
    list = heal ? await listAgain(locks, store, digest, watch.signal) : undefined;
    if (list === undefined) left.push(damage);
    else healed.push(`${damage} (mended from the lock)`);
  }

  const total = (list ?? []).reduce((sum, { size }) => sum + size, 0);
  let bytesRead = 0;
  for (const input of list ?? []) {
    throwIfAborted(watch.signal);
    const now = await hashFile(store.context.blobs.path(input.digest));
    bytesRead += input.size;
    watch.progress(bytesRead, total, `reading ${formatBytes(total)} of kept inputs again`);
    if (now === input.digest) continue;
    const damage = `input: ${nameOf(lock, input.digest)} is ${now === undefined ? 'missing' : 'damaged'} (${input.digest})`;
    found.push(damage);
    const from = heal ? await mend(context, store, lock, input.digest, watch.signal) : undefined;
    if (from === undefined) left.push(damage);
    else healed.push(`${damage} (mended from ${from})`);
  }
  return { bytesRead, found, healed, left };
}

async function readLock(
  locks: Pick<KeptLocks, 'read'>,
  lockDigest: string,
  onDamage: (damage: string) => void,
): Promise<Json | undefined> {
  try {
    return await locks.read(lockDigest);
  } catch (error) {
    if (!isDamage(error)) throw error;
    onDamage(`lock: ${error.message}`);
    return undefined;
  }
}

/** `undefined` when the list itself is damaged or gone. */
async function readList(store: DiskStore, lockDigest: Digest): Promise<readonly Descriptor[] | undefined> {
  const listed = await store.resolve(inputsTag(lockDigest));
  if (listed === undefined) return undefined;
  try {
    const parsed = parseManifestLike(await store.readBlob(listed), listed);
    return parsed.kind === 'manifest' ? parsed.manifest.layers : undefined;
  } catch (error) {
    if (isDamage(error)) return undefined;
    throw error;
  }
}

/** What the cache and the store still have makes the same list; an input that is damaged too stands in the way. */
async function listAgain(
  locks: Pick<KeptLocks, 'keepInputs'>,
  store: DiskStore,
  lockDigest: Digest,
  signal: AbortSignal,
): Promise<readonly Descriptor[] | undefined> {
  try {
    await locks.keepInputs(lockDigest, signal);
  } catch (error) {
    if (isDamage(error)) return undefined;
    throw error;
  }
  return readList(store, lockDigest);
}

function isDamage(error: unknown): error is ImagoError {
  return error instanceof ImagoError && (error.code === 'store-corrupt' || error.code === 'store-not-found');
}

function nameOf(lock: Json, digest: Digest): string {
  const { inputs } = lock as unknown as Lock;
  const input = inputs.find(({ sha256 }) => sha256 === hexOf(digest));
  return input === undefined ? 'A part of a container image' : describeInput(input);
}

/** From where it was mended. Nothing but what has the right digest is taken. */
async function mend(
  { findInput, fetchInput }: KeptContext,
  store: DiskStore,
  lock: Json,
  digest: Digest,
  signal: AbortSignal,
): Promise<string | undefined> {
  const cached = await findInput?.(hexOf(digest));
  if (cached !== undefined && (await replace(store, digest, cached))) return 'the build cache';
  const fetched = await fetchInput?.(lock, hexOf(digest), signal);
  return fetched !== undefined && (await replace(store, digest, fetched)) ? 'its source' : undefined;
}

function replace(store: DiskStore, digest: Digest, path: string): Promise<boolean> {
  return replaceBlob(store.context, digest, createReadStream(path, { highWaterMark: 1 << 20 }));
}
