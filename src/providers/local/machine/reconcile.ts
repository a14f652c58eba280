// Reconciles a machine with its database row: its disk, metadata, power, or deletion. Each pending action is read from the
// row, done, and only then cleared, so that the next daemon continues where a killed one stopped.
import { rm } from 'node:fs/promises';
import { changeMachine, machineById, modelsConfig, sizeOf } from '../../../cloud/state/machine-rows.ts';
import { forgetEmptyPools } from '../../../cloud/state/pool-rows.ts';
import type { MachineRow } from '../../../cloud/state/rows.ts';
import { ensureImagoError } from '../../../domain/error/imago-error.ts';
import type { ProvisioningError } from '../../../ports/provider/call.ts';
import type { MachineSpec } from '../../../ports/provider/machines.ts';
import { copyDisk, diskPath, dropOtherDisks, makeMachineDisk } from '../disk/machine-disk.ts';
import { copyDueSnapshots, snapshotPath } from '../disk/snapshot-work.ts';
import { type HostContext, machineFolder } from '../state/context.ts';
import { readSize } from '../state/machine-size.ts';
import { memoryClaims, requireMemory } from '../state/memory.ts';
import type { BootQueue } from './boot-queue.ts';
import { hostMachine, metadataOf } from './host-machine.ts';

export interface DutyContext extends HostContext {
  readonly queue: BootQueue;
  /** A machine is gone, or has another disk: images may be unused now. */
  readonly onDiskDropped: () => void;
}

/** Does all that is due. Returns early when the machine has to wait for its turn to boot. */
export async function doDuties(context: DutyContext, machineId: string): Promise<void> {
  await copyDueSnapshots(context, machineId);
  for (;;) {
    const row = context.world.transaction(() => machineById(context.world, machineId));
    if (row === undefined) return context.queue.leave(machineId);
    if (row.deletedAt !== null) return remove(context, row);
    if (row.nextDigest !== null) await giveDisk(context, row, row.nextDigest);
    else if (row.metadataDue === 1) await tell(context, row);
    else if (row.resizeDue === 1) await powerOff(context, row, { resizeDue: 0, powerDue: 1 });
    else if (row.powerDue === 0) return;
    else if (row.powerTo === 'stopped') await powerOff(context, row, { powerDue: 0, busyWith: null });
    else if (!context.queue.enter(machineId)) return;
    else await powerOn(context, row);
  }
}

async function remove(context: DutyContext, row: MachineRow): Promise<void> {
  const { world, host, queue } = context;
  queue.leave(row.machineId);
  await host.remove(row.machineId);
  await rm(machineFolder(context, row.machineId), { recursive: true, force: true });
  world.transaction(() => {
    world.run('DELETE FROM machine WHERE machineId = ?', row.machineId);
    forgetEmptyPools(world);
  });
  context.onDiskDropped();
}

/** Creates the new disk before it deletes the old one: if there is no space, the machine stays as it is. */
async function giveDisk(context: DutyContext, row: MachineRow, digest: string): Promise<void> {
  const { world, host, images, limits } = context;
  const folder = machineFolder(context, row.machineId);
  const serial = row.disk + 1;
  try {
    const { snapshot, diskBytes = limits.diskBytes } = wishOf(row);
    const image = await images.ensure(digest);
    if (snapshot === undefined) await makeMachineDisk(image, diskPath(folder, serial), diskBytes);
    else await copyDisk(snapshotPath(context, snapshot), diskPath(folder, serial));
    await host.kill(row.machineId);
  } catch (thrown) {
    await rm(diskPath(folder, serial), { force: true });
    const kept = row.disk > 0 ? {} : { powerTo: 'stopped' as const };
    return fail(context, row, errorOf(thrown), { nextDigest: null, nextModel: null, powerDue: 0, ...kept });
  }
  world.transaction(() =>
    changeMachine(world, row.machineId, {
      disk: serial,
      digest,
      nextDigest: null,
      diskModel: row.nextModel,
      appliedModel: row.nextModel,
      nextModel: null,
      ...modelsConfig,
      imagedAt: row.disk === 0 ? row.imagedAt : Math.max(world.time(), row.imagedAt + 1),
      needsReport: row.generalized,
      powerTo: 'running',
      powerDue: 1,
      metadataDue: 0,
      resizeDue: 0,
    }),
  );
  await dropOtherDisks(folder, serial);
  if (row.disk > 0) context.onDiskDropped();
}

function wishOf({ spec }: MachineRow): Pick<MachineSpec, 'snapshot' | 'diskBytes'> {
  return spec === null ? {} : (JSON.parse(spec) as MachineSpec);
}

async function tell(context: DutyContext, row: MachineRow): Promise<void> {
  const { world, host } = context;
  try {
    if (host.status(row.machineId).state !== 'absent') {
      const metadata = world.transaction(() => metadataOf(context, row));
      await host.setMetadata(row.machineId, metadata);
    }
  } catch (thrown) {
    return fail(context, row, errorOf(thrown), { metadataDue: 0 });
  }
  world.transaction(() => {
    const now = machineById(world, row.machineId);
    const same = now !== undefined && now.appliedModel === row.appliedModel && now.userData === row.userData;
    if (same) changeMachine(world, row.machineId, { metadataDue: 0, ...settledBy(now) });
  });
}

/** Returns the change of a machine for which only the metadata was pending. */
function settledBy(row: MachineRow): Partial<MachineRow> {
  return row.resizeDue === 0 && row.powerDue === 0 && row.needsReport === 0 ? { busyWith: null } : {};
}

async function powerOff(
  { world, host, queue, limits }: DutyContext,
  row: MachineRow,
  done: Partial<MachineRow>,
): Promise<void> {
  queue.leave(row.machineId);
  await host.stop(row.machineId, { deadlineMs: limits.stopMs });
  world.transaction(() => {
    if (machineById(world, row.machineId)?.powerTo === row.powerTo) changeMachine(world, row.machineId, done);
  });
}

async function powerOn(context: DutyContext, row: MachineRow): Promise<void> {
  const { world, host, images } = context;
  try {
    const image = await images.ensure(row.digest ?? '');
    const spec = world.transaction(() => {
      const others = memoryClaims(context, row.machineId);
      requireMemory(context.memory, others, { count: 1, memoryMb: readSize(sizeOf(world, row)).memoryMb });
      return hostMachine(context, row, image);
    });
    await host.start(spec);
  } catch (thrown) {
    return fail(context, row, errorOf(thrown), { powerDue: 0 });
  }
  world.transaction(() => {
    if (machineById(world, row.machineId)?.powerTo !== 'running') return;
    changeMachine(world, row.machineId, {
      powerDue: 0,
      bootedAt: world.time(),
      ...(row.needsReport === 1 ? {} : { busyWith: null }),
    });
  });
}

function fail(
  context: DutyContext,
  row: MachineRow,
  error: ProvisioningError,
  columns: Partial<MachineRow>,
): void {
  context.queue.leave(row.machineId);
  context.world.transaction(() =>
    changeMachine(context.world, row.machineId, {
      ...columns,
      busyWith: null,
      errorCode: error.code,
      errorMessage: error.message,
    }),
  );
}

function errorOf(thrown: unknown): ProvisioningError {
  const { code, message } = ensureImagoError(thrown);
  return { code, message };
}
