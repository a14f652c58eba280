// Versions of a local gallery: a record and a name in the store. Content is fixed once made.

import { ImagoError } from '../../../domain/error/imago-error.ts';
import { parseNumber } from '../../../domain/image/version-number.ts';
import { canonicalJson } from '../../../domain/value/canonical-json.ts';
import { parseDigest } from '../../../oci/layout/digest.ts';
import type {
  Gallery,
  GalleryVersionChange,
  GalleryVersionSpec,
  VersionSource,
} from '../../../ports/provider/gallery.ts';
import { requireImage } from '../../common/gallery-rows.ts';
import { pageOf, rowsFor } from '../../common/paging.ts';
import { busy, conflict, invalid, lacks, notFound } from '../../common/refusals.ts';
import { findStoredDisk, type StoredContent } from '../disk/stored-disk.ts';
import { admit, change, type LocalContext, look, type VersionKey } from '../state/context.ts';
import { requireSnapshot } from '../state/snapshot-rows.ts';
import { findVersion, toGalleryVersion, type VersionRow } from '../state/version-rows.ts';

type VersionRole = Pick<
  Gallery,
  'createVersion' | 'getVersion' | 'listVersions' | 'updateVersion' | 'deleteVersion' | 'readDigest'
>;

export function localGalleryVersions(context: LocalContext, gallery: string): VersionRole {
  const { world, work } = context;
  return {
    async createVersion(spec, options) {
      const what = `version ${spec.image}:${spec.version}`;
      admit(context, what, options);
      const source = exactSource(spec.source, gallery);
      const stored = source.kind === 'disk' ? await findStoredDisk(context.store, source.digest) : undefined;
      const key = { gallery, image: spec.image, version: spec.version };
      await change(context, what, options, () => createVersion(context, key, { ...spec, source }, stored));
      work.version(key);
    },
    getVersion: (image, version, options) =>
      look(context, options, () => {
        const row = findVersion(world, { gallery, image, version });
        return row && toGalleryVersion(row);
      }),
    listVersions: (image, query, options) =>
      look(context, options, () => {
        requireImage(world, gallery, image);
        const after =
          query.cursor === undefined ? { major: -1, minor: -1, patch: -1 } : parseNumber(query.cursor);
        const rows = world.all<VersionRow>(
          `SELECT * FROM version WHERE gallery = ? AND image = ? AND (major, minor, patch) > (?, ?, ?)
           ORDER BY major, minor, patch LIMIT ?`,
          gallery,
          image,
          after.major,
          after.minor,
          after.patch,
          rowsFor(query),
        );
        return pageOf(query, rows, (row) => row.version, toGalleryVersion);
      }),
    updateVersion: (image, version, asked, options) =>
      change(context, `version ${image}:${version}`, options, () =>
        updateVersion(context, { gallery, image, version }, asked),
      ),
    async deleteVersion(image, version, options) {
      const key = { gallery, image, version };
      await change(context, `the end of version ${image}:${version}`, options, () =>
        deleteVersion(context, key),
      );
      work.version(key);
    },
    async readDigest(image, version, options) {
      const row = await look(context, options, () => findVersion(world, { gallery, image, version }));
      if (row === undefined || row.digest === null || row.diskDigest === null) {
        throw notFound(`Gallery ${gallery} has no whole version ${image}:${version}.`);
      }
      const { damages } = await context.store.verify(parseDigest(row.digest), { signal: options.signal });
      const [damage] = damages;
      if (damage === undefined) return row.diskDigest;
      throw new ImagoError('store-corrupt', `The disk of ${image}:${version} is damaged: ${damage.message}`);
    },
  };
}

/** The source with its gallery filled in, so that two ways to write one source are the same. */
function exactSource(source: VersionSource, gallery: string): VersionSource {
  return source.kind === 'version' ? { ...source, gallery: source.gallery ?? gallery } : source;
}

function createVersion(
  context: LocalContext,
  key: VersionKey,
  spec: GalleryVersionSpec,
  stored: StoredContent | undefined,
): void {
  const { world } = context;
  const number = parseNumber(spec.version);
  requireImage(world, key.gallery, key.image);
  checkFlags(spec);
  const found = findVersion(world, key);
  if (found !== undefined) {
    adoptVersion(context, found, spec.source);
    return;
  }
  const content = readSource(context, spec.source, stored);
  world.insert('version', {
    ...key,
    ...number,
    source: canonicalJson(spec.source),
    digest: content?.digest ?? null,
    diskDigest: content?.diskDigest ?? null,
    diskBytes: content?.diskBytes ?? null,
    made: 0,
    excludeFromLatest: Number(spec.excludeFromLatest),
    endOfLife: spec.endOfLife ?? null,
    blockDeletion: Number(spec.blockDeletionBeforeEndOfLife ?? false),
    tags: canonicalJson(spec.tags),
    createdAt: world.time(),
  });
}

/** One that failed is tried again. */
function adoptVersion({ world }: LocalContext, found: VersionRow, source: VersionSource): void {
  const name = `${found.image}:${found.version}`;
  if (found.deleting === 1) throw busy(`Version ${name} is being deleted.`);
  if (found.source !== canonicalJson(source)) {
    throw conflict(`Version ${name} was made from another source, and content never changes.`);
  }
  if (found.errorCode === null) return;
  world.run(
    `UPDATE version SET errorCode = NULL, errorMessage = NULL
     WHERE gallery = ? AND image = ? AND version = ?`,
    found.gallery,
    found.image,
    found.version,
  );
}

/** What the source holds; `undefined` for a snapshot, whose disk has yet to be read into the store. */
function readSource(
  { world, defaultGallery }: LocalContext,
  source: VersionSource,
  stored: StoredContent | undefined,
): StoredContent | undefined {
  if (source.kind === 'snapshot') {
    requireSnapshot(world, source.name);
    return undefined;
  }
  if (source.kind === 'disk') {
    if (stored === undefined) throw notFound(`There is no sealed disk ${source.digest}.`);
    return stored;
  }
  const { gallery = defaultGallery, image, version } = source;
  const row = findVersion(world, { gallery, image, version });
  if (row === undefined || row.deleting === 1) {
    throw notFound(`Gallery ${gallery} has no version ${image}:${version} to copy.`);
  }
  const { digest, diskDigest, diskBytes, made } = row;
  if (made === 0 || digest === null || diskDigest === null || diskBytes === null) {
    throw busy(`Version ${image}:${version} of gallery ${gallery} is not whole yet.`);
  }
  return { digest, diskDigest, diskBytes };
}

function updateVersion({ world }: LocalContext, key: VersionKey, asked: GalleryVersionChange): void {
  const name = `${key.image}:${key.version}`;
  const row = findVersion(world, key);
  if (row === undefined) throw notFound(`Gallery ${key.gallery} has no version ${name}.`);
  if (row.deleting === 1) throw busy(`Version ${name} is being deleted.`);
  checkFlags(asked);
  if (row.made === 0 && row.errorCode === null) throw busy(`Version ${name} is still being made.`);
  world.run(
    `UPDATE version SET excludeFromLatest = ?, endOfLife = ?, blockDeletion = ?
     WHERE gallery = ? AND image = ? AND version = ?`,
    Number(asked.excludeFromLatest ?? row.excludeFromLatest),
    asked.endOfLife ?? row.endOfLife,
    Number(asked.blockDeletionBeforeEndOfLife ?? row.blockDeletion),
    key.gallery,
    key.image,
    key.version,
  );
}

function deleteVersion({ world }: LocalContext, key: VersionKey): void {
  const row = findVersion(world, key);
  if (row === undefined || row.deleting === 1) return;
  if (row.blockDeletion === 1 && row.endOfLife !== null && world.time() < Date.parse(row.endOfLife)) {
    throw conflict(
      `Version ${key.image}:${key.version} cannot be deleted before its end of life, ${row.endOfLife}.`,
    );
  }
  world.run(
    'UPDATE version SET deleting = 1 WHERE gallery = ? AND image = ? AND version = ?',
    key.gallery,
    key.image,
    key.version,
  );
}

function checkFlags({ regions = [], endOfLife }: GalleryVersionChange): void {
  if (regions.length > 0) throw lacks('The local provider has no regions to copy versions to.');
  if (endOfLife !== undefined && Number.isNaN(Date.parse(endOfLife))) {
    throw invalid(`The end of life ${JSON.stringify(endOfLife)} is not a time.`);
  }
}
