// A snapshot as it is stored, and as the role shows it.
import type { Snapshot } from '../../../ports/provider/disks.ts';
import { busy, notFound } from '../../common/refusals.ts';
import type { World } from '../../common/state-database.ts';
import { isoTime } from './context.ts';

export interface SnapshotRow {
  readonly name: string;
  readonly disk: string;
  readonly machineId: string;
  readonly tags: string;
  /** The version under the disk, whose image must stay as long as the snapshot. */
  readonly content: string;
  readonly diskBytes: number;
  readonly made: number;
  readonly errorCode: string | null;
  readonly errorMessage: string | null;
  readonly createdAt: number;
  readonly deleting: number;
}

export function findSnapshot(world: World, name: string): SnapshotRow | undefined {
  return world.get<SnapshotRow>('SELECT * FROM snapshot WHERE name = ?', name);
}

/** One that a version can be made from. */
export function requireSnapshot(world: World, name: string): SnapshotRow {
  const row = findSnapshot(world, name);
  if (row === undefined || row.deleting === 1) throw notFound(`There is no snapshot ${name}.`);
  if (row.errorCode !== null) throw notFound(`Snapshot ${name} failed and holds nothing.`);
  if (row.made === 0) throw busy(`Snapshot ${name} is not whole yet.`);
  return row;
}

export function toSnapshot(row: SnapshotRow): Snapshot {
  return {
    name: row.name,
    disk: row.disk,
    tags: JSON.parse(row.tags) as Record<string, string>,
    state: snapshotState(row),
    sizeBytes: row.diskBytes,
    createdAt: isoTime(row.createdAt),
    ...(row.errorCode === null
      ? {}
      : { error: { code: row.errorCode, message: row.errorMessage ?? row.errorCode } }),
  };
}

function snapshotState(row: SnapshotRow): Snapshot['state'] {
  if (row.deleting === 1) return 'deleting';
  if (row.errorCode !== null) return 'failed';
  return row.made === 1 ? 'ready' : 'creating';
}
