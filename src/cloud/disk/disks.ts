// Snapshots of the disks of machines and nodes.

import { busy, checkLimit, conflict, lacks, notFound } from '../../domain/error/refusals.ts';
import { canonicalJson } from '../../domain/value/canonical-json.ts';
import { checkName } from '../../domain/value/name.ts';
import type { Disks, SnapshotSpec } from '../../ports/provider/disks.ts';
import { admit, change, look } from '../state/call.ts';
import { type Bend, type Cloud, stillThere } from '../state/cloud.ts';
import { countRows } from '../state/gallery-rows.ts';
import { machineById } from '../state/machine-rows.ts';
import { pageByName } from '../state/paging.ts';
import type { SnapshotRow } from '../state/rows.ts';
import { findSnapshot, requireSnapshot, snapshotState, toSnapshot } from '../state/snapshot-rows.ts';

export function cloudDisks(cloud: Cloud): Disks {
  const { world, executor } = cloud;

  async function onSnapshot(
    name: string,
    options: Parameters<Disks['getSnapshot']>[1],
    body: (bend: Bend) => SnapshotRow | undefined,
  ): Promise<void> {
    const changed = await change(cloud, `snapshot ${name}`, options, body);
    if (changed !== undefined) executor.workOnSnapshot(changed);
  }

  return {
    createSnapshot: (spec, options) =>
      onSnapshot(spec.name, options, (bend) => createSnapshot(cloud, spec, bend)),
    getSnapshot: (name, options) =>
      look(cloud, options, () => {
        const row = findSnapshot(world, name);
        return row && toSnapshot(cloud, row);
      }),
    listSnapshots: (query, options) =>
      look(cloud, options, () =>
        pageByName(world, query, `snapshot WHERE ${stillThere}`, [world.time()], (row: SnapshotRow) =>
          toSnapshot(cloud, row),
        ),
      ),
    deleteSnapshot: (name, options) => onSnapshot(name, options, (bend) => deleteSnapshot(cloud, name, bend)),
    async sealSnapshot(name, image, seal, options) {
      admit(cloud, `snapshot ${name}`, options);
      const row = await look(cloud, options, () => requireSnapshot(world, name));
      return executor.sealSnapshot(row, image, seal, options.signal);
    },
  };
}

/** Returns the new snapshot; `undefined` if there was one that can be adopted. One that failed is made again. */
function createSnapshot(
  cloud: Cloud,
  { name, disk, tags }: SnapshotSpec,
  bend: Bend,
): SnapshotRow | undefined {
  const { world, executor } = cloud;
  if (!cloud.abilities.snapshots) throw lacks('The provider cannot make snapshots.');
  checkName('node', name);
  const found = findSnapshot(world, name);
  if (found !== undefined) {
    if (found.deletedAt !== null) throw busy(`Snapshot ${name} is being deleted.`);
    if (found.disk !== disk) throw conflict(`Snapshot ${name} exists and is of another disk.`);
    if (snapshotState(found, world.time()) !== 'failed') return undefined;
  }
  const machine = machineById(world, /^disk\/(.+)$/.exec(disk)?.[1] ?? '');
  if (machine === undefined || machine.deletedAt !== null || machine.disk === 0) {
    throw notFound(`There is no disk ${disk}.`);
  }
  if (machine.nextDigest !== null) throw busy(`The machine of disk ${disk} is getting another disk.`);
  world.run('DELETE FROM snapshot WHERE goneAt <= ? OR name = ?', world.time(), name);
  checkLimit('snapshots', countRows(world, 'snapshot') + 1, cloud.limits.snapshots);
  const { failure } = bend;
  const row: SnapshotRow = {
    ...{ name, disk, tags: canonicalJson(tags) },
    machineId: machine.machineId,
    region: machine.region,
    ...executor.captureDisk(machine),
    createdAt: world.time(),
    readyAt: executor.endOf('snapshotCreate', name, bend) ?? (failure === undefined ? null : world.time()),
    errorCode: failure?.code ?? null,
    errorMessage: failure?.message ?? null,
    deletedAt: null,
    goneAt: null,
  };
  world.insert('snapshot', row);
  return row;
}

/** Returns the snapshot that is to be deleted now. */
function deleteSnapshot({ world, executor }: Cloud, name: string, bend: Bend): SnapshotRow | undefined {
  const row = findSnapshot(world, name);
  if (row === undefined || row.deletedAt !== null) return undefined;
  const made = world.get<{ image: string; version: string }>(
    `SELECT image, version FROM version JOIN regionCopy USING (gallery, image, version)
     WHERE source = ? AND deletedAt IS NULL AND position = 0 AND startsAt IS NOT NULL
       AND (readyAt IS NULL OR readyAt > ?)`,
    canonicalJson({ kind: 'snapshot', name }),
    world.time(),
  );
  if (made !== undefined) {
    throw busy(`Version ${made.image}:${made.version} is still being made from snapshot ${name}.`);
  }
  if (bend.failure !== undefined) return undefined;
  const deletion = { deletedAt: world.time(), goneAt: executor.endOf('snapshotDelete', name, bend) };
  world.update('snapshot', { name }, deletion);
  return { ...row, ...deletion };
}
