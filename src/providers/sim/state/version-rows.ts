// A gallery version as it is stored, and what it looks like at a moment: every state follows from stored times.

import type { ProvisioningError, ProvisioningState } from '../../../ports/provider/call.ts';
import type { GalleryVersion, RegionState, VersionSource } from '../../../ports/provider/gallery.ts';
import { isoTime, type SimContext } from '../world/context.ts';
import type { World } from '../world/world.ts';

export interface VersionRow {
  readonly gallery: string;
  readonly image: string;
  readonly version: string;
  readonly major: number;
  readonly minor: number;
  readonly patch: number;
  readonly source: string;
  readonly diskDigest: string;
  readonly diskBytes: number;
  readonly traits: string;
  readonly excludeFromLatest: number;
  readonly endOfLife: string | null;
  readonly blockDeletion: number;
  readonly tags: string;
  readonly busyUntil: number;
  readonly createdAt: number;
  readonly goneAt: number | null;
}

/** The copy of a version in one region. Without `startsAt` it waits for a first copy that failed. */
export interface CopyRow {
  readonly region: string;
  readonly position: number;
  readonly replicas: number;
  readonly excludeFromLatest: number | null;
  readonly addedAt: number;
  readonly startsAt: number | null;
  readonly readyAt: number | null;
  readonly errorCode: string | null;
  readonly errorMessage: string | null;
}

export type CopyState = RegionState['state'];

/** The version, unless it is gone by now. */
export function findVersion(
  world: World,
  gallery: string,
  image: string,
  version: string,
): VersionRow | undefined {
  return world.get<VersionRow>(
    `SELECT * FROM version WHERE gallery = ? AND image = ? AND version = ? AND (goneAt IS NULL OR goneAt > ?)`,
    gallery,
    image,
    version,
    world.time(),
  );
}

/** The first copy, where the bytes arrive, comes first. */
export function copiesOf(world: World, row: Pick<VersionRow, 'gallery' | 'image' | 'version'>): CopyRow[] {
  return world.all<CopyRow>(
    'SELECT * FROM regionCopy WHERE gallery = ? AND image = ? AND version = ? ORDER BY position',
    row.gallery,
    row.image,
    row.version,
  );
}

export function copyState(copy: CopyRow, now: number): CopyState {
  if (copy.startsAt === null || copy.readyAt === null || now < copy.startsAt) return 'pending';
  if (now < copy.readyAt) return 'replicating';
  return copy.errorCode === null ? 'ready' : 'failed';
}

/** Whether it will still change by itself. */
export function copyUnderWay(copy: CopyRow, now: number): boolean {
  return copy.readyAt !== null && now < copy.readyAt;
}

export function versionState(row: VersionRow, copies: readonly CopyRow[], now: number): ProvisioningState {
  if (row.goneAt !== null) return 'deleting';
  const underWay = copies.filter((copy) => copyUnderWay(copy, now));
  if (underWay.some((copy) => copy.addedAt === row.createdAt)) return 'creating';
  if (underWay.length > 0) return 'updating';
  if (copies.some((copy) => copyState(copy, now) !== 'ready')) return 'failed';
  return now < row.busyUntil ? 'updating' : 'ready';
}

export function toGalleryVersion(context: SimContext, row: VersionRow): GalleryVersion {
  const { world, abilities } = context;
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
    regions: abilities.regions.length === 0 ? [] : copies.map((copy) => toRegionState(copy, now)),
    createdAt: isoTime(row.createdAt),
    ...(arrived ? { sizeBytes: row.diskBytes } : {}),
    ...(arrived && abilities.galleryDigest ? { diskDigest: row.diskDigest } : {}),
    ...(error === undefined ? {} : { error }),
  };
}

function toRegionState(copy: CopyRow, now: number): RegionState {
  const error = copyState(copy, now) === 'failed' ? errorOf(copy) : undefined;
  return {
    region: copy.region,
    replicas: copy.replicas,
    ...(copy.excludeFromLatest === null ? {} : { excludeFromLatest: copy.excludeFromLatest === 1 }),
    state: copyState(copy, now),
    percent: percentOf(copy, now),
    ...(error === undefined ? {} : { error }),
  };
}

/** A copy that fails stops half-way. */
function percentOf(copy: CopyRow, now: number): number {
  if (copy.startsAt === null || copy.readyAt === null || now < copy.startsAt) return 0;
  const whole = copy.errorCode === null ? 100 : 50;
  if (now >= copy.readyAt) return whole;
  return Math.floor((whole * (now - copy.startsAt)) / (copy.readyAt - copy.startsAt));
}

function errorOf(copy: CopyRow): ProvisioningError | undefined {
  if (copy.errorCode === null) return undefined;
  return { code: copy.errorCode, message: copy.errorMessage ?? copy.errorCode };
}
