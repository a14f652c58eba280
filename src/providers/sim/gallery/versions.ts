// Versions of the simulated gallery: content fixed once made, copies in regions, guards against deletion.

import { parseNumber } from '../../../domain/image/version-number.ts';
import { canonicalJson } from '../../../domain/value/canonical-json.ts';
import type { Page, PageQuery } from '../../../ports/page.ts';
import type {
  Gallery,
  GalleryVersion,
  GalleryVersionChange,
  GalleryVersionSpec,
  VersionSource,
} from '../../../ports/provider/gallery.ts';
import { countRows, requireGallery, requireImage } from '../../common/gallery-rows.ts';
import { pageOf, rowsFor } from '../../common/paging.ts';
import { busy, checkLimit, conflict, invalid, lacks, notFound } from '../../common/refusals.ts';
import {
  copiesOf,
  findVersion,
  toGalleryVersion,
  type VersionRow,
  versionState,
} from '../state/version-rows.ts';
import { exactSource, readSource } from '../state/version-source.ts';
import { type Bend, finds, lists, reads, writes } from '../world/call.ts';
import { endOf, type SimContext } from '../world/context.ts';
import type { World } from '../world/world.ts';
import { checkRegions, currentTargets, placeCopies } from './version-copies.ts';

type VersionRole = Pick<
  Gallery,
  'createVersion' | 'getVersion' | 'listVersions' | 'updateVersion' | 'deleteVersion' | 'readDigest'
>;
type VersionKey = Pick<VersionRow, 'gallery' | 'image' | 'version'>;

export function simGalleryVersions(context: SimContext, gallery: string): VersionRole {
  const { call, world } = context;
  return {
    createVersion: (spec, options) =>
      call(writes('gallery.createVersion', `${spec.image}/${spec.version}`), options, (bend) =>
        createVersion(context, gallery, spec, bend),
      ),
    getVersion: (image, version, options) =>
      call(finds<GalleryVersion>('gallery.getVersion', `${image}/${version}`), options, () => {
        const row = findVersion(world, gallery, image, version);
        return row && toGalleryVersion(context, row);
      }),
    listVersions: (image, query, options) =>
      call(lists<GalleryVersion>('gallery.listVersions', image), options, () =>
        listVersions(context, gallery, image, query),
      ),
    updateVersion: (image, version, change, options) =>
      call(writes('gallery.updateVersion', `${image}/${version}`), options, (bend) =>
        updateVersion(context, { gallery, image, version }, change, bend),
      ),
    deleteVersion: (image, version, options) =>
      call(writes('gallery.deleteVersion', `${image}/${version}`), options, (bend) =>
        deleteVersion(context, { gallery, image, version }, bend),
      ),
    readDigest: (image, version, options) =>
      call(
        reads<string>('gallery.readDigest', `${image}/${version}`, () => ''),
        options,
        () => {
          const row = findVersion(world, gallery, image, version);
          if (row === undefined) throw notFound(`Gallery ${gallery} has no version ${image}:${version}.`);
          return row.diskDigest;
        },
      ),
  };
}

function createVersion(context: SimContext, gallery: string, spec: GalleryVersionSpec, bend: Bend): void {
  const { world } = context;
  const number = parseNumber(spec.version);
  const { region: home } = requireGallery(world, gallery);
  requireImage(world, gallery, spec.image);
  checkFlags(context, spec);
  const targets = checkRegions(context, home, spec.regions);
  const source = exactSource(spec.source, gallery);
  const found = findVersion(world, gallery, spec.image, spec.version);
  if (found !== undefined) {
    adoptVersion(context, found, source, bend);
    return;
  }
  const content = readSource(context, source);
  forgetGone(world);
  checkLimit('versions', countRows(world, 'version') + 1, context.limits.versions);
  const key = { gallery, image: spec.image, version: spec.version };
  world.insert('version', {
    ...key,
    ...number,
    source: canonicalJson(source),
    diskDigest: content.diskDigest,
    diskBytes: content.diskBytes,
    traits: content.traits,
    excludeFromLatest: Number(spec.excludeFromLatest),
    endOfLife: spec.endOfLife ?? null,
    blockDeletion: Number(spec.blockDeletionBeforeEndOfLife ?? false),
    tags: canonicalJson(spec.tags),
    busyUntil: world.time(),
    createdAt: world.time(),
  });
  placeCopies(context, key, targets, bend);
}

function adoptVersion(context: SimContext, found: VersionRow, source: VersionSource, bend: Bend): void {
  const name = `${found.image}:${found.version}`;
  if (found.goneAt !== null) throw busy(`Version ${name} is being deleted.`);
  if (found.source !== canonicalJson(source)) {
    throw conflict(`Version ${name} was made from another source, and content never changes.`);
  }
  const copies = copiesOf(context.world, found);
  if (versionState(found, copies, context.world.time()) !== 'failed') return;
  placeCopies(context, found, currentTargets(copies), bend);
}

function updateVersion(context: SimContext, key: VersionKey, change: GalleryVersionChange, bend: Bend): void {
  const { world } = context;
  const name = `${key.image}:${key.version}`;
  const row = findVersion(world, key.gallery, key.image, key.version);
  if (row === undefined) throw notFound(`Gallery ${key.gallery} has no version ${name}.`);
  if (row.goneAt !== null) throw busy(`Version ${name} is marked for deletion.`);
  checkFlags(context, change);
  const copies = copiesOf(world, row);
  if (versionState(row, copies, world.time()) === 'creating')
    throw busy(`Version ${name} is still being made.`);
  if (change.regions !== undefined) {
    const targets = checkRegions(context, requireGallery(world, key.gallery).region, change.regions);
    const left = copies.filter((copy) => !targets.some((target) => target.region === copy.region));
    if (left.length > 0 && change.allowRegionRemoval !== true) {
      throw conflict(`Version ${name} would be taken out of ${left.map((copy) => copy.region).join(', ')}.`);
    }
    placeCopies(context, row, targets, bend);
  }
  if (bend.failure !== undefined) return;
  world.run(
    `UPDATE version SET excludeFromLatest = ?, endOfLife = ?, blockDeletion = ?, busyUntil = ?
     WHERE gallery = ? AND image = ? AND version = ?`,
    Number(change.excludeFromLatest ?? row.excludeFromLatest),
    change.endOfLife ?? row.endOfLife,
    Number(change.blockDeletionBeforeEndOfLife ?? row.blockDeletion),
    endOf(context, 'versionUpdate', `${key.gallery}/${name}`, bend),
    key.gallery,
    key.image,
    key.version,
  );
}

function deleteVersion(context: SimContext, key: VersionKey, bend: Bend): void {
  const { world } = context;
  const row = findVersion(world, key.gallery, key.image, key.version);
  if (row === undefined || row.goneAt !== null) return;
  const name = `${key.image}:${key.version}`;
  if (row.blockDeletion === 1 && row.endOfLife !== null && world.time() < Date.parse(row.endOfLife)) {
    throw conflict(`Version ${name} cannot be deleted before its end of life, ${row.endOfLife}.`);
  }
  if (bend.failure !== undefined) return;
  world.run(
    'UPDATE version SET goneAt = ? WHERE gallery = ? AND image = ? AND version = ?',
    endOf(context, 'versionDelete', `${key.gallery}/${name}`, bend),
    key.gallery,
    key.image,
    key.version,
  );
}

function listVersions(
  context: SimContext,
  gallery: string,
  image: string,
  query: PageQuery,
): Page<GalleryVersion> {
  const { world } = context;
  requireImage(world, gallery, image);
  const after = query.cursor === undefined ? { major: -1, minor: -1, patch: -1 } : parseNumber(query.cursor);
  const rows = world.all<VersionRow>(
    `SELECT * FROM version WHERE gallery = ? AND image = ? AND (major, minor, patch) > (?, ?, ?)
       AND (goneAt IS NULL OR goneAt > ?)
     ORDER BY major, minor, patch LIMIT ?`,
    gallery,
    image,
    after.major,
    after.minor,
    after.patch,
    world.time(),
    rowsFor(query),
  );
  return pageOf(
    query,
    rows,
    (row) => row.version,
    (row) => toGalleryVersion(context, row),
  );
}

function checkFlags({ abilities }: SimContext, flags: Omit<GalleryVersionChange, 'regions'>): void {
  if (flags.excludeFromLatest === true && !abilities.excludeFromLatest) {
    throw lacks('The provider cannot take a version out of its own latest.');
  }
  if (flags.blockDeletionBeforeEndOfLife === true && !abilities.deletionGuard) {
    throw lacks('The provider cannot guard a version against deletion.');
  }
  if (flags.endOfLife !== undefined && Number.isNaN(Date.parse(flags.endOfLife))) {
    throw invalid(`The end of life ${JSON.stringify(flags.endOfLife)} is not a time.`);
  }
}

/** Takes the rows of versions away that are gone by now. */
function forgetGone(world: World): void {
  const gone = 'SELECT gallery, image, version FROM version WHERE goneAt <= ?';
  world.run(`DELETE FROM regionCopy WHERE (gallery, image, version) IN (${gone})`, world.time());
  world.run('DELETE FROM version WHERE goneAt <= ?', world.time());
}
