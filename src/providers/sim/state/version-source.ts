// Where the bytes of a version or a machine come from: a sealed disk, a snapshot, another version.
import type { VersionSource } from '../../../ports/provider/gallery.ts';
import { busy, notFound } from '../../common/refusals.ts';
import type { SimContext } from '../world/context.ts';
import type { World } from '../world/world.ts';
import type { SnapshotRow } from './snapshot-rows.ts';
import { copiesOf, copyState, findVersion } from './version-rows.ts';

/** The bytes of a simulated disk: what names them, how many they are, and how they behave. */
export interface DiskContent {
  readonly diskDigest: string;
  readonly diskBytes: number;
  readonly traits: string;
}

/** The source with its gallery filled in, so that two ways to write one source are the same. */
export function exactSource(source: VersionSource, gallery: string): VersionSource {
  return source.kind === 'version' ? { ...source, gallery: source.gallery ?? gallery } : source;
}

/** What the source holds; `provider-not-found` when there is none, retryable when it is not whole yet. */
export function readSource(context: SimContext, source: VersionSource): DiskContent {
  switch (source.kind) {
    case 'disk':
      return sealedContent(context.world, source.digest);
    case 'snapshot':
      return snapshotContent(context.world, source.name);
    case 'version':
      return versionContent(context, source);
  }
}

/** A version that new machines can be started from in that region, with the copies it has there. */
export function usableVersion(
  context: SimContext,
  from: { readonly gallery?: string; readonly image: string; readonly version: string },
  region: string,
): (DiskContent & { readonly replicas: number }) | undefined {
  const { world } = context;
  const row = findVersion(world, from.gallery ?? context.defaultGallery, from.image, from.version);
  if (row === undefined || row.goneAt !== null) return undefined;
  const copy = copiesOf(world, row).find((one) => one.region === region);
  if (copy === undefined || copyState(copy, world.time()) !== 'ready') return undefined;
  return {
    diskDigest: row.diskDigest,
    diskBytes: row.diskBytes,
    traits: row.traits,
    replicas: copy.replicas,
  };
}

function sealedContent(world: World, digest: string): DiskContent {
  const sealed = world.get<DiskContent>(
    'SELECT diskDigest, diskBytes, traits FROM sealedDisk WHERE diskDigest = ? LIMIT 1',
    digest,
  );
  if (sealed === undefined) throw notFound(`There is no sealed disk ${digest}.`);
  return sealed;
}

function snapshotContent(world: World, name: string): DiskContent {
  const row = world.get<SnapshotRow>('SELECT * FROM snapshot WHERE name = ?', name);
  if (row === undefined || row.goneAt !== null) throw notFound(`There is no snapshot ${name}.`);
  if (world.time() < row.readyAt) throw busy(`Snapshot ${name} is not whole yet.`);
  if (row.errorCode !== null) throw notFound(`Snapshot ${name} failed and holds nothing.`);
  return row;
}

function versionContent(
  context: SimContext,
  source: Extract<VersionSource, { readonly kind: 'version' }>,
): DiskContent {
  const { world } = context;
  const { gallery = context.defaultGallery, image, version } = source;
  const row = findVersion(world, gallery, image, version);
  if (row === undefined || row.goneAt !== null) {
    throw notFound(`Gallery ${gallery} has no version ${image}:${version} to copy.`);
  }
  const [first] = copiesOf(world, row);
  if (first === undefined || copyState(first, world.time()) !== 'ready') {
    throw busy(`Version ${image}:${version} of gallery ${gallery} is not whole yet.`);
  }
  return row;
}
