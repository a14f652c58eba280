// Checks what is stored for building a version again, its lock and its inputs, and repairs it: from the build cache, or
// from where the lock says that an input came from.

import { createReadStream } from 'node:fs';
import { throwIfAborted } from '../async/abort.ts';
import { describeInput, type Lock } from '../domain/lock/lock.ts';
import { formatBytes } from '../domain/value/bytes.ts';
import type { DiskStore } from '../oci/disks/disk-store.ts';
import { type BlobSource, repairBlob } from '../oci/disks/repair-disk.ts';
import { isDamage } from '../oci/disks/verify-disk.ts';
import { type Digest, hashFile, hexOf, parseDigest } from '../oci/layout/digest.ts';
import { type Descriptor, parseManifest } from '../oci/layout/manifest.ts';
import type { ImageCheck, KeptLocks, Watch } from '../ports/image-store/image-store.ts';
import type { VersionsContext } from './context.ts';
import { inputsTag, lockTag } from './kept-locks.ts';

export type KeptContext = Pick<VersionsContext, 'store' | 'findInput' | 'fetchInput'>;

/** A version for which nothing is stored has no damage here. */
export async function checkKept(
  context: KeptContext,
  locks: Pick<KeptLocks, 'read' | 'keepInputs'>,
  { lockDigest, heal }: { readonly lockDigest: string; readonly heal: boolean },
  watch: Watch,
): Promise<ImageCheck> {
  const store = await context.store();
  const digest = parseDigest(lockDigest);
  const [found, healed, left]: [string[], string[], string[]] = [[], [], []];
  let bytesRead = 0;
  const note = (damage: string, from: string | undefined) => {
    found.push(damage);
    if (from === undefined) left.push(damage);
    else healed.push(`${damage} (repaired from ${from})`);
  };

  const lock = await orDamage(
    () => locks.read(lockDigest),
    ({ message }) => note(`lock: ${message}`, undefined),
  );
  if (lock === undefined || (await store.resolve(inputsTag(digest))) === undefined) {
    return { bytesRead, found, healed, left };
  }

  let list = await readList(store, digest);
  if (list === undefined) {
    if (heal) await orDamage(() => locks.keepInputs(lockDigest, watch.signal));
    list = heal ? await readList(store, digest) : undefined;
    const damage = `inputs: the list of the inputs of ${lockTag(digest)} is damaged`;
    note(damage, list === undefined ? undefined : 'the lock');
  }

  const total = (list ?? []).reduce((sum, { size }) => sum + size, 0);
  for (const input of list ?? []) {
    throwIfAborted(watch.signal);
    const now = await hashFile(store.blobs.path(input.digest));
    bytesRead += input.size;
    watch.progress(bytesRead, total, `reading ${formatBytes(total)} of stored inputs again`);
    if (now === input.digest) continue;
    const sources = heal ? inputSources(context, lock, watch.signal) : [];
    const state = now === undefined ? 'missing' : 'damaged';
    const damage = `input: ${nameOf(lock, input.digest)} is ${state} (${input.digest})`;
    note(damage, await repairBlob(store, input.digest, sources));
  }
  return { bytesRead, found, healed, left };
}

/** Returns `undefined` if the list itself is damaged or missing. */
async function readList(store: DiskStore, lockDigest: Digest): Promise<readonly Descriptor[] | undefined> {
  return orDamage(async () => {
    const listed = await store.resolve(inputsTag(lockDigest));
    return listed && parseManifest(await store.readBlob(listed), listed).layers;
  });
}

async function orDamage<T>(
  read: () => Promise<T>,
  report: (damage: Error) => void = () => undefined,
): Promise<T | undefined> {
  try {
    return await read();
  } catch (error) {
    if (!isDamage(error)) throw error;
    report(error);
    return undefined;
  }
}

function nameOf({ inputs }: Lock, digest: Digest): string {
  const input = inputs.find(({ sha256 }) => sha256 === hexOf(digest));
  return input === undefined ? 'A part of a container image' : describeInput(input);
}

function inputSources(
  { findInput, fetchInput }: KeptContext,
  lock: Lock,
  signal: AbortSignal,
): readonly BlobSource[] {
  const source = (name: string, find: (sha256: string) => Promise<string | undefined> | undefined) => ({
    name,
    async read(digest: Digest) {
      const path = await find(hexOf(digest));
      return path === undefined ? undefined : createReadStream(path, { highWaterMark: 1 << 20 });
    },
  });
  return [
    source('the build cache', (sha256) => findInput?.(sha256)),
    source('its source', (sha256) => fetchInput?.(lock, sha256, signal)),
  ];
}
