// Reads every byte of a version again and names each blob that is damaged.

import { createHash } from 'node:crypto';
import { throwIfAborted } from '../../async/abort.ts';
import { mapLimit } from '../../async/map-limit.ts';
import { ImagoError } from '../../domain/error/imago-error.ts';
import { holdVersion, readDiskManifest, readManifestLike, type StoreContext } from '../layout/context.ts';
import { type Digest, hashFile } from '../layout/digest.ts';
import { contentOf, type Manifest, type ManifestLike } from '../layout/manifest.ts';
import { annotationKeys, mediaTypes } from '../layout/media-types.ts';
import { attachedEntries } from '../layout/referrers.ts';
import { openDisk } from './open-disk.ts';

export interface Damage {
  readonly blob: Digest;
  readonly role: 'manifest' | 'config' | 'index' | 'pack' | 'attachment' | 'disk';
  readonly kind: 'missing' | 'content';
  readonly message: string;
}

export interface VerifyReport {
  readonly digest: Digest;
  readonly damages: readonly Damage[];
  readonly bytesRead: number;
}

export interface VerifyOptions {
  readonly signal?: AbortSignal | undefined;
  readonly onProgress?:
    | ((progress: { readonly bytesRead: number; readonly total: number }) => void)
    | undefined;
}

const concurrency = 2;
const roles: Readonly<Record<string, Damage['role']>> = {
  [mediaTypes.diskConfig]: 'config',
  [mediaTypes.diskIndex]: 'index',
  [mediaTypes.diskPack]: 'pack',
};

/**
 * Checks a version, everything that is attached to it, and the sha256 of the raw disk. Damage is reported, not thrown.
 * Changes nothing.
 */
export async function verifyDisk(
  store: StoreContext,
  digest: Digest,
  { signal, onProgress }: VerifyOptions = {},
): Promise<VerifyReport> {
  return store.owner.holding(async (hold) => {
    const damages: Damage[] = [];
    const manifest = await orDamage(damages, 'manifest', digest, async () => {
      await holdVersion(store, digest, hold);
      return readDiskManifest(store, digest);
    });
    if (manifest === undefined) return { digest, damages, bytesRead: 0 };
    const parts = contentOf({ kind: 'manifest', manifest });
    const total = parts.reduce((sum, { size }) => sum + size, 0);
    let bytesRead = 0;
    await mapLimit(parts, concurrency, async (part) => {
      throwIfAborted(signal);
      await checkBlob(store, part.digest, roles[part.mediaType] ?? 'attachment', damages);
      bytesRead += part.size;
      onProgress?.({ bytesRead, total });
    });
    await checkAttachments(store, digest, damages);
    if (damages.length === 0) await checkRawDisk(store, digest, manifest, damages, signal);
    return { digest, damages, bytesRead };
  });
}

async function checkAttachments(store: StoreContext, digest: Digest, damages: Damage[]): Promise<void> {
  for (const referrer of await attachedEntries(store, digest)) {
    const parsed: ManifestLike | undefined = await orDamage(damages, 'attachment', referrer.digest, () =>
      readManifestLike(store, referrer.digest),
    );
    if (parsed === undefined || parsed.kind === 'index') continue;
    for (const part of contentOf(parsed)) await checkBlob(store, part.digest, 'attachment', damages);
    await checkAttachments(store, referrer.digest, damages);
  }
}

async function checkBlob(
  store: StoreContext,
  blob: Digest,
  role: Damage['role'],
  damages: Damage[],
): Promise<void> {
  const found = await hashFile(store.blobs.path(blob));
  if (found === undefined) damages.push({ blob, role, kind: 'missing', message: `${blob} is missing` });
  else if (found !== blob) damages.push({ blob, role, kind: 'content', message: `${blob} is damaged` });
}

/** Checks the last link: the blobs are as they were written, and what they contain is the disk that was given. */
async function checkRawDisk(
  store: StoreContext,
  digest: Digest,
  manifest: Manifest,
  damages: Damage[],
  signal: AbortSignal | undefined,
): Promise<void> {
  const found = await orDamage(damages, 'disk', digest, async () => {
    const reader = await openDisk(store, digest);
    const hash = createHash('sha256');
    try {
      const buffer = Buffer.alloc(2 * 1024 * 1024);
      for (let at = 0; at < reader.size; at += buffer.length) {
        throwIfAborted(signal);
        const part = buffer.subarray(0, Math.min(buffer.length, reader.size - at));
        hash.update(await reader.read(at, part));
      }
    } finally {
      await reader.close();
    }
    return `sha256:${hash.digest('hex')}`;
  });
  const expected = manifest.annotations?.[annotationKeys.diskSha256];
  if (found === undefined || found === expected) return;
  const message = `the disk has the sha256 ${found}, and its manifest says ${expected}`;
  damages.push({ blob: digest, role: 'disk', kind: 'content', message });
}

async function orDamage<T>(
  damages: Damage[],
  role: Damage['role'],
  blob: Digest,
  read: () => Promise<T>,
): Promise<T | undefined> {
  try {
    return await read();
  } catch (error) {
    if (!isDamage(error)) throw error;
    const kind = error.code === 'store-not-found' ? 'missing' : 'content';
    damages.push({ blob, role, kind, message: `${blob}: ${error.message}` });
    return undefined;
  }
}

export function isDamage(error: unknown): error is ImagoError {
  return error instanceof ImagoError && (error.code === 'store-corrupt' || error.code === 'store-not-found');
}
