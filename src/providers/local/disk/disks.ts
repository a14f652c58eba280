// Snapshots of the disks of local machines.
import { canonicalJson } from '../../../domain/value/canonical-json.ts';
import { checkName } from '../../../domain/value/name.ts';
import type { Disks, SnapshotSpec } from '../../../ports/provider/disks.ts';
import { pageOf, rowsFor } from '../../common/paging.ts';
import { busy, conflict, notFound } from '../../common/refusals.ts';
import { change, type LocalContext, look } from '../state/context.ts';
import { diskName, machineById } from '../state/machine-rows.ts';
import { findSnapshot, type SnapshotRow, toSnapshot } from '../state/snapshot-rows.ts';

export function localDisks(context: LocalContext): Disks {
  const { world, work } = context;
  return {
    async createSnapshot(spec, options) {
      const machineId = await change(context, `snapshot ${spec.name}`, options, () =>
        createSnapshot(context, spec),
      );
      if (machineId !== undefined) work.machine(machineId);
    },
    getSnapshot: (name, options) =>
      look(context, options, () => {
        const row = findSnapshot(world, name);
        return row && toSnapshot(row);
      }),
    listSnapshots: (query, options) =>
      look(context, options, () => {
        const rows = world.all<SnapshotRow>(
          'SELECT * FROM snapshot WHERE name > ? ORDER BY name LIMIT ?',
          query.cursor ?? '',
          rowsFor(query),
        );
        return pageOf(query, rows, (row) => row.name, toSnapshot);
      }),
    async deleteSnapshot(name, options) {
      await change(context, `the end of snapshot ${name}`, options, () => deleteSnapshot(context, name));
      work.snapshot(name);
    },
  };
}

/** The machine whose disk is to be copied; `undefined` when it is there already. */
function createSnapshot({ world }: LocalContext, spec: SnapshotSpec): string | undefined {
  checkName('node', spec.name);
  const found = findSnapshot(world, spec.name);
  if (found !== undefined) {
    if (found.deleting === 1) throw busy(`Snapshot ${spec.name} is being deleted.`);
    if (found.disk !== spec.disk) throw conflict(`Snapshot ${spec.name} exists and is of another disk.`);
    if (found.errorCode === null) return undefined;
    world.run('DELETE FROM snapshot WHERE name = ?', spec.name);
  }
  const machine = machineById(world, /^disk\/(.+)$/.exec(spec.disk)?.[1] ?? '');
  if (machine === undefined || machine.deleting === 1 || machine.disk === 0 || machine.content === null) {
    throw notFound(`There is no disk ${spec.disk}.`);
  }
  if (machine.nextContent !== null) throw busy(`The machine of disk ${spec.disk} is getting another disk.`);
  world.insert('snapshot', {
    name: spec.name,
    disk: diskName(machine),
    machineId: machine.machineId,
    tags: canonicalJson(spec.tags),
    content: machine.content,
    diskBytes: 0,
    made: 0,
    createdAt: world.time(),
  });
  return machine.machineId;
}

function deleteSnapshot({ world }: LocalContext, name: string): void {
  const row = findSnapshot(world, name);
  if (row === undefined || row.deleting === 1) return;
  const made = world.get<{ image: string; version: string }>(
    'SELECT image, version FROM version WHERE source = ? AND made = 0 AND errorCode IS NULL AND deleting = 0',
    canonicalJson({ kind: 'snapshot', name }),
  );
  if (made !== undefined) {
    throw busy(`Version ${made.image}:${made.version} is still being made from snapshot ${name}.`);
  }
  world.run('UPDATE snapshot SET deleting = 1 WHERE name = ?', name);
}
