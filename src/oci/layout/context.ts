// What the operations on a store share: its folder, its blobs, its list of manifests.
import { ImagoError } from '../../domain/error/imago-error.ts';
import type { BlobFolder } from './blob-folder.ts';
import type { Digest } from './digest.ts';
import type { LayoutIndex } from './layout-index.ts';
import {
  contentOf,
  type Manifest,
  type ManifestLike,
  maxManifestSize,
  parseManifestLike,
} from './manifest.ts';
import { mediaTypes } from './media-types.ts';
import type { StoreHold, StoreOwner } from './owner.ts';
import type { StorePaths } from './paths.ts';

export interface StoreContext {
  readonly paths: StorePaths;
  readonly owner: StoreOwner;
  readonly blobs: BlobFolder;
  readonly index: LayoutIndex;
  /** How many worker threads one operation may use; small disks use none. */
  readonly threads: number;
}

/** Less work than this is done quicker than threads are started. */
export const worthThreads = 16 * 1024 * 1024;

export async function readManifestLike(store: StoreContext, digest: Digest): Promise<ManifestLike> {
  return parseManifestLike(await store.blobs.read(digest, maxManifestSize), `manifest ${digest}`);
}

/** The manifest of a stored disk; `input-invalid` when the digest is that of something else. */
export async function readDiskManifest(store: StoreContext, digest: Digest): Promise<Manifest> {
  const parsed = await readManifestLike(store, digest);
  if (parsed.kind === 'manifest' && parsed.manifest.artifactType === mediaTypes.disk) return parsed.manifest;
  throw new ImagoError('input-invalid', `${digest} is not a disk`);
}

/** Keeps a version and all its parts; `store-not-found` when the store does not have it. */
export async function holdVersion(store: StoreContext, digest: Digest, hold: StoreHold): Promise<void> {
  await store.owner.exclusive(async () => {
    const parsed = await readManifestLike(store, digest);
    hold.pin([digest, ...contentOf(parsed).map((part) => part.digest)]);
  });
}
