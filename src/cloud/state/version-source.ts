// Finds the bytes that a version or a machine is made from: a sealed disk, a snapshot, another version.

import { busy, notFound } from '../../domain/error/refusals.ts';
import type { VersionSource } from '../../ports/provider/gallery.ts';
import type { Cloud } from './cloud.ts';
import type { DiskContent } from './rows.ts';
import { requireSnapshot } from './snapshot-rows.ts';
import { copiesOf, copyState, findVersion } from './version-rows.ts';

/** Returns the source with its gallery filled in, so that two ways to write one source are equal. */
export function exactSource(source: VersionSource, gallery: string): VersionSource {
  return source.kind === 'version' ? { ...source, gallery: source.gallery ?? gallery } : source;
}

/**
 * Returns the content of the source. `sealed` is the disk that a source of that kind names. Throws
 * `provider-not-found` if there is none, and a retryable conflict if it is not complete yet.
 */
export function readSource(
  cloud: Cloud,
  source: VersionSource,
  sealed: DiskContent | undefined,
): DiskContent {
  if (source.kind === 'snapshot') return snapshotContent(cloud, source.name);
  if (source.kind === 'version') return versionContent(cloud, source);
  if (sealed === undefined) throw notFound(`There is no sealed disk ${source.digest}.`);
  return sealed;
}

/** The store names a snapshot's disk only when it has read it. */
function snapshotContent({ world }: Cloud, name: string): DiskContent {
  const { diskDigest, diskBytes, traits } = requireSnapshot(world, name);
  return { digest: null, diskDigest, diskBytes: diskDigest === null ? null : diskBytes, traits };
}

function versionContent(cloud: Cloud, source: Extract<VersionSource, { readonly kind: 'version' }>) {
  const { world, defaultGallery } = cloud;
  const { gallery = defaultGallery, image, version } = source;
  const row = findVersion(world, { gallery, image, version });
  if (row === undefined || row.deletedAt !== null) {
    throw notFound(`Gallery ${gallery} has no version ${image}:${version} to copy.`);
  }
  const [first] = copiesOf(world, row);
  if (first === undefined || copyState(first, world.time()) !== 'ready') {
    throw busy(`Version ${image}:${version} of gallery ${gallery} is not complete yet.`);
  }
  return row;
}

/** Returns the version if new machines can be started from it in that region, with the copies it has there. */
export function usableVersion(
  { world, defaultGallery }: Cloud,
  from: { readonly gallery?: string; readonly image: string; readonly version: string },
  region: string,
): (DiskContent & { readonly replicas: number }) | undefined {
  const row = findVersion(world, { ...from, gallery: from.gallery ?? defaultGallery });
  if (row === undefined || row.deletedAt !== null) return undefined;
  const copy = copiesOf(world, row).find((one) => one.region === region);
  if (copy === undefined || copyState(copy, world.time()) !== 'ready') return undefined;
  const { digest, diskDigest, diskBytes, traits } = row;
  return { digest, diskDigest, diskBytes, traits, replicas: copy.replicas };
}
