// A version of a local gallery as it is stored, and as the role shows it.

import type { ProvisioningState } from '../../../ports/provider/call.ts';
import type { GalleryVersion, VersionSource } from '../../../ports/provider/gallery.ts';
import { findImage } from '../../common/gallery-rows.ts';
import type { World } from '../../common/state-database.ts';
import { isoTime, type LocalContext, type VersionKey } from './context.ts';

export interface VersionRow extends VersionKey {
  readonly source: string;
  /** Of the manifest in the store, as soon as it is known. */
  readonly digest: string | null;
  readonly diskDigest: string | null;
  readonly diskBytes: number | null;
  readonly made: number;
  readonly excludeFromLatest: number;
  readonly endOfLife: string | null;
  readonly blockDeletion: number;
  readonly tags: string;
  readonly errorCode: string | null;
  readonly errorMessage: string | null;
  readonly createdAt: number;
  readonly deleting: number;
}

export function findVersion(world: World, key: VersionKey): VersionRow | undefined {
  return world.get<VersionRow>(
    'SELECT * FROM version WHERE gallery = ? AND image = ? AND version = ?',
    key.gallery,
    key.image,
    key.version,
  );
}

/** A version that machines can be made from now. */
export function usableVersion(
  { world, defaultGallery }: LocalContext,
  from: { readonly gallery?: string; readonly image: string; readonly version: string },
): { readonly digest: string } | undefined {
  const row = findVersion(world, { ...from, gallery: from.gallery ?? defaultGallery });
  if (row === undefined || row.deleting === 1 || row.made === 0 || row.digest === null) return undefined;
  return { digest: row.digest };
}

export function versionState(row: VersionRow): ProvisioningState {
  if (row.deleting === 1) return 'deleting';
  if (row.errorCode !== null) return 'failed';
  return row.made === 1 ? 'ready' : 'creating';
}

export function toGalleryVersion(row: VersionRow): GalleryVersion {
  const made = row.made === 1;
  return {
    image: row.image,
    version: row.version,
    source: JSON.parse(row.source) as VersionSource,
    excludeFromLatest: row.excludeFromLatest === 1,
    ...(row.endOfLife === null ? {} : { endOfLife: row.endOfLife }),
    ...(row.blockDeletion === 1 ? { blockDeletionBeforeEndOfLife: true } : {}),
    tags: JSON.parse(row.tags) as Record<string, string>,
    state: versionState(row),
    regions: [],
    createdAt: isoTime(row.createdAt),
    ...(made && row.diskBytes !== null ? { sizeBytes: row.diskBytes } : {}),
    ...(made && row.diskDigest !== null ? { diskDigest: row.diskDigest } : {}),
    ...(row.errorCode === null
      ? {}
      : { error: { code: row.errorCode, message: row.errorMessage ?? row.errorCode } }),
  };
}

/** The name that keeps the version's disk in the store. */
export function versionTag({ gallery, image, version }: VersionKey): string {
  return `${gallery}_${image}_${version}`;
}

/** A generalized machine is made when its agent has made it a node; a specialized one when it runs. */
export function isGeneralized(
  { world, defaultGallery }: LocalContext,
  from: { readonly gallery?: string; readonly image: string },
): boolean {
  return findImage(world, from.gallery ?? defaultGallery, from.image)?.osState !== 'specialized';
}
