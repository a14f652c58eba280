// A snapshot as it is stored, and what it looks like at a moment.
import type { Snapshot } from '../../../ports/provider/disks.ts';
import { isoTime, type SimContext } from '../world/context.ts';

export interface SnapshotRow {
  readonly name: string;
  readonly disk: string;
  readonly tags: string;
  readonly region: string;
  readonly diskDigest: string;
  readonly diskBytes: number;
  readonly traits: string;
  readonly readyAt: number;
  readonly errorCode: string | null;
  readonly errorMessage: string | null;
  readonly createdAt: number;
  readonly goneAt: number | null;
}

export function findSnapshot({ world }: SimContext, name: string): SnapshotRow | undefined {
  return world.get<SnapshotRow>(
    'SELECT * FROM snapshot WHERE name = ? AND (goneAt IS NULL OR goneAt > ?)',
    name,
    world.time(),
  );
}

export function toSnapshot({ world, abilities }: SimContext, row: SnapshotRow): Snapshot {
  const state = snapshotState(row, world.time());
  return {
    name: row.name,
    disk: row.disk,
    tags: JSON.parse(row.tags) as Record<string, string>,
    ...(abilities.regions.length === 0 ? {} : { region: row.region }),
    state,
    sizeBytes: row.diskBytes,
    createdAt: isoTime(row.createdAt),
    ...(state === 'failed' && row.errorCode !== null
      ? { error: { code: row.errorCode, message: row.errorMessage ?? row.errorCode } }
      : {}),
  };
}

function snapshotState(row: SnapshotRow, now: number): Snapshot['state'] {
  if (row.goneAt !== null) return 'deleting';
  if (now < row.readyAt) return 'creating';
  return row.errorCode === null ? 'ready' : 'failed';
}
