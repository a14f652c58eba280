// Removes what a killed process left incomplete: old disks, directories of deleted machines, copies without a snapshot.
import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { machineById } from '../../cloud/state/machine-rows.ts';
import { findSnapshot } from '../../cloud/state/snapshot-rows.ts';
import { dropOtherDisks } from './disk/machine-disk.ts';
import { type HostContext, machineFolder } from './state/context.ts';

/** Call it in the machine's own turn, so that no disk is being created for it. */
export async function sweepMachine(context: HostContext, machineId: string): Promise<void> {
  const row = context.world.transaction(() => machineById(context.world, machineId));
  if (row !== undefined) await dropOtherDisks(machineFolder(context, machineId), row.disk);
}

/** Everything is recorded before it is created: what has no record is an orphan. */
export async function sweepStrays({ world, host, paths }: HostContext): Promise<void> {
  for (const machineId of await namesIn(paths.machines)) {
    if (world.transaction(() => machineById(world, machineId)) !== undefined) continue;
    await host.remove(machineId);
    await rm(join(paths.machines, machineId), { recursive: true, force: true });
  }
  for (const file of await namesIn(paths.snapshots)) {
    const name = file.replace(/\.qcow2(?:\.partial)?$/, '');
    if (world.transaction(() => findSnapshot(world, name)) !== undefined) continue;
    await rm(join(paths.snapshots, file), { force: true });
  }
}

async function namesIn(folder: string): Promise<readonly string[]> {
  return readdir(folder).catch(() => []);
}
