// Finds sealed disks in the store, by what names their content.
import type { DiskContent } from '../../../cloud/state/rows.ts';
import { ImagoError } from '../../../domain/error/imago-error.ts';
import { type DiskStore, describeDisk } from '../../../oci/disks/disk-store.ts';
import { isDigest, parseDigest } from '../../../oci/layout/digest.ts';

/** The sealed disk whose raw bytes have this sha256; `undefined` when the store has none. */
export async function findStoredDisk(store: DiskStore, diskDigest: string): Promise<DiskContent | undefined> {
  for (const { digest } of await store.list()) {
    const found = await inspect(store, digest);
    if (found?.diskDigest === diskDigest) return found;
  }
  return undefined;
}

/** The sealed disk with this manifest; `undefined` when the store has none, or lists it no more. */
export async function findManifest(store: DiskStore, digest: string): Promise<DiskContent | undefined> {
  if (!isDigest(digest)) return undefined;
  const listed = (await store.list()).some((disk) => disk.digest === digest);
  return listed ? inspect(store, digest) : undefined;
}

async function inspect(store: DiskStore, digest: string): Promise<DiskContent | undefined> {
  try {
    const { sha256, size } = await describeDisk(store, parseDigest(digest));
    return { digest, diskDigest: sha256, diskBytes: size, traits: '{}' };
  } catch (error) {
    if (error instanceof ImagoError && error.code === 'store-not-found') return undefined;
    throw error;
  }
}
