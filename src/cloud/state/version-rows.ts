// Gallery versions as they are stored, and as the role shows them: every state follows from the stored times.

import type { ProvisioningError, ProvisioningState } from '../../ports/provider/call.ts';
import type { GalleryVersion, RegionState, VersionSource } from '../../ports/provider/gallery.ts';
import { type Cloud, type Executor, isoTime, stillThere } from './cloud.ts';
import type { CopyRow, VersionKey, VersionRow } from './rows.ts';
import type { World } from './state-file.ts';

/** Finds the version, unless it is gone by now. */
export function findVersion(world: World, { gallery, image, version }: VersionKey): VersionRow | undefined {
  return world.get<VersionRow>(
    `SELECT * FROM version WHERE gallery = ? AND image = ? AND version = ? AND ${stillThere}`,
    gallery,
    image,
    version,
    world.time(),
  );
}

/** Returns the copies of a version. The first is the copy that the bytes arrive at. */
export function copiesOf(world: World, { gallery, image, version }: VersionKey): CopyRow[] {
  return world.all<CopyRow>(
    'SELECT * FROM regionCopy WHERE gallery = ? AND image = ? AND version = ? ORDER BY position',
    gallery,
    image,
    version,
  );
}

export function copyState(copy: CopyRow, now: number): RegionState['state'] {
  if (copy.startsAt === null || now < copy.startsAt) return 'pending';
  if (copy.readyAt === null || now < copy.readyAt) return 'replicating';
  return copy.errorCode === null ? 'ready' : 'failed';
}

/** Returns whether the copy will still change on its own. */
export function isInProgress(copy: CopyRow, now: number): boolean {
  return copy.startsAt !== null && (copy.readyAt === null || now < copy.readyAt);
}

export function versionState(row: VersionRow, copies: readonly CopyRow[], now: number): ProvisioningState {
  if (row.deletedAt !== null) return 'deleting';
  const changing = copies.filter((copy) => isInProgress(copy, now));
  if (changing.some((copy) => copy.addedAt === row.createdAt)) return 'creating';
  if (changing.length > 0) return 'updating';
  if (copies.some((copy) => copyState(copy, now) !== 'ready')) return 'failed';
  return now < row.busyUntil ? 'updating' : 'ready';
}

export function toGalleryVersion({ world, abilities, executor }: Cloud, row: VersionRow): GalleryVersion {
  const now = world.time();
  const copies = copiesOf(world, row);
  const state = versionState(row, copies, now);
  const first = copies[0];
  const arrived = first !== undefined && copyState(first, now) === 'ready';
  const failed = copies.find((copy) => copyState(copy, now) === 'failed');
  const error = state === 'failed' && failed !== undefined ? errorOf(failed) : undefined;
  return {
    image: row.image,
    version: row.version,
    source: JSON.parse(row.source) as VersionSource,
    excludeFromLatest: row.excludeFromLatest === 1,
    ...(row.endOfLife === null ? {} : { endOfLife: row.endOfLife }),
    ...(row.blockDeletion === 1 ? { blockDeletionBeforeEndOfLife: true } : {}),
    tags: JSON.parse(row.tags) as Record<string, string>,
    state,
    regions:
      abilities.regions.length === 0
        ? []
        : copies.map((copy) => toRegionState(copy, now, executor.copyPercent)),
    createdAt: isoTime(row.createdAt),
    ...(arrived && row.diskBytes !== null ? { sizeBytes: row.diskBytes } : {}),
    ...(arrived && row.diskDigest !== null && abilities.galleryDigest ? { diskDigest: row.diskDigest } : {}),
    ...(error === undefined ? {} : { error }),
  };
}

function toRegionState(copy: CopyRow, now: number, percent: Executor['copyPercent']): RegionState {
  const state = copyState(copy, now);
  const error = state === 'failed' ? errorOf(copy) : undefined;
  return {
    region: copy.region,
    replicas: copy.replicas,
    ...(copy.excludeFromLatest === null ? {} : { excludeFromLatest: copy.excludeFromLatest === 1 }),
    state,
    percent: state === 'replicating' && percent ? percent(copy, copy.region) : percentOf(copy, now),
    ...(error === undefined ? {} : { error }),
  };
}

/** Returns the progress of a copy. One that fails stops half-way. */
function percentOf(copy: CopyRow, now: number): number {
  if (copy.startsAt === null || copy.readyAt === null || now < copy.startsAt) return 0;
  const whole = copy.errorCode === null ? 100 : 50;
  if (now >= copy.readyAt) return whole;
  return Math.floor((whole * (now - copy.startsAt)) / (copy.readyAt - copy.startsAt));
}

/** Returns the error of a row, if it has one. */
export function errorOf(row: Pick<CopyRow, 'errorCode' | 'errorMessage'>): ProvisioningError | undefined {
  if (row.errorCode === null) return undefined;
  return { code: row.errorCode, message: row.errorMessage ?? row.errorCode };
}
