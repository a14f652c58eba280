// Copies disks in the turn of their machine, so that nothing else changes the machine.
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { machineById } from '../../../cloud/state/machine-rows.ts';
import type { SnapshotRow } from '../../../cloud/state/rows.ts';
import type { World } from '../../../cloud/state/state-file.ts';
import { ensureImagoError } from '../../../domain/error/imago-error.ts';
import type { ProvisioningError } from '../../../ports/provider/call.ts';
import { type HostContext, machineFolder } from '../state/context.ts';
import { copyDisk, diskBytesOf, diskPath } from './machine-disk.ts';

export function snapshotPath({ paths }: HostContext, name: string): string {
  return join(paths.snapshots, `${name}.qcow2`);
}

/** Creates the requested snapshots of this machine's disk, oldest first. */
export async function copyDueSnapshots(context: HostContext, machineId: string): Promise<void> {
  const { world } = context;
  const due = world.transaction(() =>
    world.all<SnapshotRow>(
      'SELECT * FROM snapshot WHERE machineId = ? AND readyAt IS NULL AND deletedAt IS NULL ORDER BY createdAt, name',
      machineId,
    ),
  );
  for (const snapshot of due) {
    const outcome = await copyFor(context, machineId, snapshot.name);
    world.transaction(() => record(world, snapshot, outcome));
    context.work.snapshot(snapshot.name);
  }
}

type Copied = Pick<SnapshotRow, 'digest' | 'diskBytes'>;

function record(world: World, { name }: SnapshotRow, outcome: Copied | ProvisioningError): void {
  const result = 'code' in outcome ? { errorCode: outcome.code, errorMessage: outcome.message } : outcome;
  world.update('snapshot', { name }, { ...result, readyAt: world.time() });
}

async function copyFor(
  context: HostContext,
  machineId: string,
  name: string,
): Promise<Copied | ProvisioningError> {
  const { world, host } = context;
  const row = world.transaction(() => machineById(world, machineId));
  if (row === undefined || row.disk === 0 || row.digest === null) {
    return {
      code: 'DiskNotFound',
      message: `The disk of snapshot ${name} was deleted before it was copied.`,
    };
  }
  const disk = diskPath(machineFolder(context, machineId), row.disk);
  try {
    await host.held(machineId, () => copyDisk(disk, snapshotPath(context, name)));
    return { digest: row.digest, diskBytes: await diskBytesOf(snapshotPath(context, name)) };
  } catch (thrown) {
    await rm(`${snapshotPath(context, name)}.partial`, { force: true });
    const { code, message } = ensureImagoError(thrown);
    return { code, message };
  }
}

/** Deletes what is left of a deleted snapshot. */
export async function dropSnapshot(context: HostContext, name: string): Promise<void> {
  const { world } = context;
  const row = world.transaction(() =>
    world.get<SnapshotRow>('SELECT * FROM snapshot WHERE name = ? AND deletedAt IS NOT NULL', name),
  );
  if (row === undefined) return;
  await rm(snapshotPath(context, name), { force: true });
  await rm(`${snapshotPath(context, name)}.partial`, { force: true });
  world.transaction(() => world.run('DELETE FROM snapshot WHERE name = ?', name));
}
