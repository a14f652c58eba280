// Finds sealed disks in the store, by what names their content.

import { type DiskDescription, type DiskStore, describeDisk } from '../../oci/disks/disk-store.ts';
import { findDisk, unlisted } from '../../oci/disks/find-disk.ts';
import { isDigest, parseDigest } from '../../oci/layout/digest.ts';
import type { DiskContent } from '../state/rows.ts';

/** The sealed disk whose raw bytes have this sha256; `undefined` when the store has none. */
export async function findStoredDisk(store: DiskStore, diskDigest: string): Promise<DiskContent | undefined> {
  return contentOf(await findDisk(store, diskDigest));
}

/** The sealed disk with this manifest; `undefined` when the store has none, or lists it no more. */
export async function findManifest(store: DiskStore, digest: string): Promise<DiskContent | undefined> {
  if (!isDigest(digest)) return undefined;
  const listed = (await store.list()).some((disk) => disk.digest === digest);
  return listed ? contentOf(await describeDisk(store, parseDigest(digest)).catch(unlisted)) : undefined;
}

function contentOf(found: DiskDescription | undefined): DiskContent | undefined {
  return found && { digest: found.digest, diskDigest: found.sha256, diskBytes: found.size, traits: '{}' };
}
