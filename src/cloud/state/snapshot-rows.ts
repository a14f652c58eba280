// Snapshots as they are stored, and as the role shows them.

import { busy, notFound } from '../../domain/error/refusals.ts';
import type { Snapshot } from '../../ports/provider/disks.ts';
import { type Cloud, isoTime, stillThere } from './cloud.ts';
import type { SnapshotRow } from './rows.ts';
import type { World } from './state-file.ts';
import { errorOf } from './version-rows.ts';

export function findSnapshot(world: World, name: string): SnapshotRow | undefined {
  return world.get<SnapshotRow>(
    `SELECT * FROM snapshot WHERE name = ? AND ${stillThere}`,
    name,
    world.time(),
  );
}

/** Returns a snapshot that a version can be made from. */
export function requireSnapshot(world: World, name: string): SnapshotRow {
  const row = findSnapshot(world, name);
  if (row === undefined || row.deletedAt !== null) throw notFound(`There is no snapshot ${name}.`);
  const state = snapshotState(row, world.time());
  if (state === 'creating') throw busy(`Snapshot ${name} is not complete yet.`);
  if (state === 'failed') throw notFound(`Snapshot ${name} failed and holds nothing.`);
  return row;
}

export function snapshotState(row: SnapshotRow, now: number): Snapshot['state'] {
  if (row.deletedAt !== null) return 'deleting';
  if (row.readyAt === null || now < row.readyAt) return 'creating';
  return row.errorCode === null ? 'ready' : 'failed';
}

export function toSnapshot({ world, abilities }: Cloud, row: SnapshotRow): Snapshot {
  const state = snapshotState(row, world.time());
  const error = state === 'failed' ? errorOf(row) : undefined;
  return {
    name: row.name,
    disk: row.disk,
    tags: JSON.parse(row.tags) as Record<string, string>,
    ...(abilities.regions.length === 0 ? {} : { region: row.region }),
    state,
    sizeBytes: row.diskBytes ?? 0,
    createdAt: isoTime(row.createdAt),
    ...(error === undefined ? {} : { error }),
  };
}
