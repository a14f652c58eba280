// Simulated snapshots. A snapshot's content is that of its disk at the moment: two of a disk that nobody
// writes to are the same, two of a running one are not.
import { canonicalJson } from '../../../domain/value/canonical-json.ts';
import { checkName } from '../../../domain/value/name.ts';
import type { Disks, Snapshot, SnapshotSpec } from '../../../ports/provider/disks.ts';
import { countRows } from '../../common/gallery-rows.ts';
import { pageOf, rowsFor } from '../../common/paging.ts';
import { busy, checkLimit, conflict, lacks, notFound } from '../../common/refusals.ts';
import { type MachineColumns, machinePower } from '../state/machine-rows.ts';
import { findSnapshot, type SnapshotRow, toSnapshot } from '../state/snapshot-rows.ts';
import { copiesOf, copyUnderWay, type VersionRow } from '../state/version-rows.ts';
import { type Bend, finds, lists, writes } from '../world/call.ts';
import { endOf, type SimContext, sha256 } from '../world/context.ts';

export function simDisks(context: SimContext): Disks {
  const { call, world } = context;
  return {
    createSnapshot: (spec, options) =>
      call(writes('disks.createSnapshot', spec.name), options, (bend) => createSnapshot(context, spec, bend)),
    getSnapshot: (name, options) =>
      call(finds<Snapshot>('disks.getSnapshot', name), options, () => {
        const row = findSnapshot(context, name);
        return row && toSnapshot(context, row);
      }),
    listSnapshots: (query, options) =>
      call(lists<Snapshot>('disks.listSnapshots', ''), options, () => {
        const rows = world.all<SnapshotRow>(
          'SELECT * FROM snapshot WHERE name > ? AND (goneAt IS NULL OR goneAt > ?) ORDER BY name LIMIT ?',
          query.cursor ?? '',
          world.time(),
          rowsFor(query),
        );
        return pageOf(
          query,
          rows,
          (row) => row.name,
          (row) => toSnapshot(context, row),
        );
      }),
    deleteSnapshot: (name, options) =>
      call(writes('disks.deleteSnapshot', name), options, (bend) => deleteSnapshot(context, name, bend)),
  };
}

function createSnapshot(context: SimContext, spec: SnapshotSpec, bend: Bend): void {
  const { world } = context;
  if (!context.abilities.snapshots) throw lacks('The provider cannot make snapshots.');
  checkName('node', spec.name);
  const found = findSnapshot(context, spec.name);
  if (found !== undefined) {
    if (found.goneAt !== null) throw busy(`Snapshot ${spec.name} is being deleted.`);
    if (found.disk === spec.disk) return;
    throw conflict(`Snapshot ${spec.name} exists and is of another disk.`);
  }
  const owner = findDisk(context, spec.disk);
  if (owner === undefined) throw notFound(`There is no disk ${spec.disk}.`);
  world.run('DELETE FROM snapshot WHERE goneAt <= ?', world.time());
  checkLimit('snapshots', countRows(world, 'snapshot') + 1, context.limits.snapshots);
  world.insert('snapshot', {
    name: spec.name,
    disk: spec.disk,
    tags: canonicalJson(spec.tags),
    region: owner.region,
    diskDigest: contentNow(owner, world.time()),
    diskBytes: owner.diskBytes,
    traits: owner.traits,
    createdAt: world.time(),
    readyAt: endOf(context, 'snapshotCreate', spec.name, bend),
    errorCode: bend.failure?.code ?? null,
    errorMessage: bend.failure?.message ?? null,
  });
}

function deleteSnapshot(context: SimContext, name: string, bend: Bend): void {
  const { world } = context;
  const row = findSnapshot(context, name);
  if (row === undefined || row.goneAt !== null) return;
  const made = world
    .all<VersionRow>(
      'SELECT * FROM version WHERE source = ? AND goneAt IS NULL',
      canonicalJson({ kind: 'snapshot', name }),
    )
    .find((version) =>
      copiesOf(world, version)
        .slice(0, 1)
        .some((copy) => copyUnderWay(copy, world.time())),
    );
  if (made !== undefined) {
    throw busy(`Version ${made.image}:${made.version} is still being made from snapshot ${name}.`);
  }
  if (bend.failure !== undefined) return;
  const goneAt = endOf(context, 'snapshotDelete', name, bend);
  world.run('UPDATE snapshot SET goneAt = ? WHERE name = ?', goneAt, name);
}

type DiskOwner = MachineColumns & { readonly region: string };

/** The node or machine whose disk it is; a disk goes with its owner. */
function findDisk({ world, homeRegion }: SimContext, disk: string): DiskOwner | undefined {
  const machineId = /^disk\/(.+)$/.exec(disk)?.[1] ?? '';
  const columns = `machineId, busyWith, readyAt, imagedAt, bootedAt, powerTo, powerSince, powerAt, hasDisk,
    diskBytes, traits`;
  const live = 'machineId = ? AND hasDisk = 1 AND t.goneAt IS NULL';
  return (
    world.get<DiskOwner>(
      `SELECT ${columns}, pool.region FROM node t JOIN pool ON pool.name = t.pool WHERE ${live}`,
      machineId,
    ) ??
    world.get<DiskOwner>(
      `SELECT ${columns}, ifnull(spec ->> 'region', ?2) AS region FROM machine t
       WHERE machineId = ?1 AND hasDisk = 1 AND t.goneAt IS NULL`,
      machineId,
      homeRegion,
    )
  );
}

function contentNow(owner: DiskOwner, now: number): string {
  const writtenAt = machinePower(owner, now) === 'stopped' ? owner.powerSince : now;
  return `sha256:${sha256('disk', owner.machineId, owner.imagedAt, writtenAt)}`;
}
