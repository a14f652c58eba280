// Versions of a gallery: content fixed once made, copies in regions, guards against deletion.

import { busy, checkLimit, conflict, invalid, lacks, notFound } from '../../domain/error/refusals.ts';
import { parseNumber } from '../../domain/image/version-number.ts';
import { canonicalJson } from '../../domain/value/canonical-json.ts';
import type { Page, PageQuery } from '../../ports/page.ts';
import type {
  Gallery,
  GalleryVersion,
  GalleryVersionChange,
  GalleryVersionSpec,
  VersionSource,
} from '../../ports/provider/gallery.ts';
import { admit, change, look } from '../state/call.ts';
import { type Bend, type Cloud, stillThere } from '../state/cloud.ts';
import { countRows, requireGallery, requireImage, versionsInImage } from '../state/gallery-rows.ts';
import { pageOf, rowsFor } from '../state/paging.ts';
import type { DiskContent, VersionKey, VersionRow } from '../state/rows.ts';
import type { World } from '../state/state-file.ts';
import { copiesOf, findVersion, toGalleryVersion, versionState } from '../state/version-rows.ts';
import { exactSource, readSource } from '../state/version-source.ts';
import { checkRegions, currentTargets, placeCopies } from './version-copies.ts';

type VersionRole = Pick<
  Gallery,
  'createVersion' | 'getVersion' | 'listVersions' | 'updateVersion' | 'deleteVersion' | 'readDigest'
>;

export function galleryVersions(cloud: Cloud, gallery: string): VersionRole {
  const { world, executor } = cloud;
  return {
    async createVersion(spec, options) {
      const what = `version ${spec.image}:${spec.version}`;
      admit(cloud, what, options);
      const source = exactSource(spec.source, gallery);
      const sealed = source.kind === 'disk' ? await executor.findDisk(source.digest) : undefined;
      const key = { gallery, image: spec.image, version: spec.version };
      await change(cloud, what, options, (bend) =>
        createVersion(cloud, key, { ...spec, source }, sealed, bend),
      );
      executor.workOnVersion(key);
    },
    getVersion: (image, version, options) =>
      look(cloud, options, () => {
        const row = findVersion(world, { gallery, image, version });
        return row && toGalleryVersion(cloud, row);
      }),
    listVersions: (image, query, options) =>
      look(cloud, options, () => listVersions(cloud, gallery, image, query)),
    async updateVersion(image, version, asked, options) {
      const key = { gallery, image, version };
      await change(cloud, `version ${image}:${version}`, options, (bend) =>
        updateVersion(cloud, key, asked, bend),
      );
      executor.workOnVersion(key);
    },
    async deleteVersion(image, version, options) {
      const key = { gallery, image, version };
      await change(cloud, `version ${image}:${version}`, options, (bend) => deleteVersion(cloud, key, bend));
      executor.workOnVersion(key);
    },
    async readDigest(image, version, options) {
      const row = await look(cloud, options, () => findVersion(world, { gallery, image, version }));
      if (row === undefined) throw notFound(`Gallery ${gallery} has no version ${image}:${version}.`);
      return executor.readDigest(row, options.signal);
    },
  };
}

function createVersion(
  cloud: Cloud,
  key: VersionKey,
  spec: GalleryVersionSpec,
  sealed: DiskContent | undefined,
  bend: Bend,
): void {
  const { world } = cloud;
  const number = parseNumber(spec.version);
  const { region: home } = requireGallery(world, key.gallery);
  requireImage(world, key.gallery, spec.image);
  checkFlags(cloud, spec);
  const targets = checkRegions(cloud, home, spec.regions);
  const found = findVersion(world, key);
  if (found !== undefined) {
    adoptVersion(cloud, found, spec.source, bend);
    return;
  }
  const { digest, diskDigest, diskBytes, traits } = readSource(cloud, spec.source, sealed);
  forgetGone(world);
  checkLimit('versions', countRows(world, 'version') + 1, cloud.limits.versions);
  checkLimit('versions of an image', versionsInImage(world, key) + 1, cloud.limits.versionsPerImage);
  const row: VersionRow = {
    ...key,
    ...number,
    source: canonicalJson(spec.source),
    ...{ digest, diskDigest, diskBytes, traits },
    excludeFromLatest: Number(spec.excludeFromLatest),
    endOfLife: spec.endOfLife ?? null,
    blockDeletion: Number(spec.blockDeletionBeforeEndOfLife ?? false),
    tags: canonicalJson(spec.tags),
    busyUntil: world.time(),
    createdAt: world.time(),
    deletedAt: null,
    goneAt: null,
  };
  world.insert('version', row);
  placeCopies(cloud, key, targets, bend);
}

/** Adopts a version that exists, and retries the regions that failed. */
function adoptVersion(cloud: Cloud, found: VersionRow, source: VersionSource, bend: Bend): void {
  const name = `${found.image}:${found.version}`;
  if (found.deletedAt !== null) throw busy(`Version ${name} is being deleted.`);
  if (found.source !== canonicalJson(source)) {
    throw conflict(`Version ${name} was made from another source, and content never changes.`);
  }
  const copies = copiesOf(cloud.world, found);
  if (versionState(found, copies, cloud.world.time()) !== 'failed') return;
  placeCopies(cloud, found, currentTargets(copies), bend);
}

function updateVersion(cloud: Cloud, key: VersionKey, asked: GalleryVersionChange, bend: Bend): void {
  const { world } = cloud;
  const name = `${key.image}:${key.version}`;
  const row = findVersion(world, key);
  if (row === undefined) throw notFound(`Gallery ${key.gallery} has no version ${name}.`);
  if (row.deletedAt !== null) throw busy(`Version ${name} is being deleted.`);
  checkFlags(cloud, asked);
  const copies = copiesOf(world, row);
  if (versionState(row, copies, world.time()) === 'creating')
    throw busy(`Version ${name} is still being made.`);
  if (asked.regions !== undefined) {
    const targets = checkRegions(cloud, requireGallery(world, key.gallery).region, asked.regions);
    const left = copies.filter((copy) => !targets.some((target) => target.region === copy.region));
    if (left.length > 0 && asked.allowRegionRemoval !== true) {
      throw conflict(`Version ${name} would be removed from ${left.map((copy) => copy.region).join(', ')}.`);
    }
    placeCopies(cloud, row, targets, bend);
  }
  if (bend.failure !== undefined) return;
  world.update('version', key, {
    excludeFromLatest: Number(asked.excludeFromLatest ?? row.excludeFromLatest),
    endOfLife: asked.endOfLife ?? row.endOfLife,
    blockDeletion: Number(asked.blockDeletionBeforeEndOfLife ?? row.blockDeletion),
    busyUntil: cloud.executor.endOf('versionUpdate', `${key.gallery}/${name}`, bend) ?? world.time(),
  });
}

function deleteVersion({ world, executor }: Cloud, key: VersionKey, bend: Bend): void {
  const row = findVersion(world, key);
  if (row === undefined || row.deletedAt !== null) return;
  const name = `${key.image}:${key.version}`;
  if (row.blockDeletion === 1 && row.endOfLife !== null && world.time() < Date.parse(row.endOfLife)) {
    throw conflict(`Version ${name} cannot be deleted before its end of life, ${row.endOfLife}.`);
  }
  if (bend.failure !== undefined) return;
  const goneAt = executor.endOf('versionDelete', `${key.gallery}/${name}`, bend);
  world.update('version', key, { deletedAt: world.time(), goneAt });
}

function listVersions(cloud: Cloud, gallery: string, image: string, query: PageQuery): Page<GalleryVersion> {
  const { world } = cloud;
  requireImage(world, gallery, image);
  const after = query.cursor === undefined ? { major: -1, minor: -1, patch: -1 } : parseNumber(query.cursor);
  const rows = world.all<VersionRow>(
    `SELECT * FROM version WHERE gallery = ? AND image = ? AND (major, minor, patch) > (?, ?, ?)
       AND ${stillThere} ORDER BY major, minor, patch LIMIT ?`,
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
    (row) => toGalleryVersion(cloud, row),
  );
}

function checkFlags({ abilities }: Cloud, flags: GalleryVersionChange): void {
  if (flags.excludeFromLatest === true && !abilities.excludeFromLatest) {
    throw lacks('The provider cannot exclude a version from its own latest.');
  }
  if (flags.blockDeletionBeforeEndOfLife === true && !abilities.deletionGuard) {
    throw lacks('The provider cannot guard a version against deletion.');
  }
  if (flags.endOfLife !== undefined && Number.isNaN(Date.parse(flags.endOfLife))) {
    throw invalid(`The end of life ${JSON.stringify(flags.endOfLife)} is not a time.`);
  }
}

/** Deletes the rows of versions that are gone by now. */
function forgetGone(world: World): void {
  const gone = 'SELECT gallery, image, version FROM version WHERE goneAt <= ?';
  world.run(`DELETE FROM regionCopy WHERE (gallery, image, version) IN (${gone})`, world.time());
  world.run('DELETE FROM version WHERE goneAt <= ?', world.time());
}
