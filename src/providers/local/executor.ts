// Runs the cloud on this host: disks in the store, machines in QEMU. Work ends when it has ended, and is written then.
import { randomUUID } from 'node:crypto';
import { statfs } from 'node:fs/promises';
import { findManifest, findStoredDisk } from '../../cloud/disk/stored-disk.ts';
import type { Executor } from '../../cloud/state/cloud.ts';
import { imagingFailure, sizeOf } from '../../cloud/state/machine-rows.ts';
import type { MachineRow, VersionRow } from '../../cloud/state/rows.ts';
import { ImagoError } from '../../domain/error/imago-error.ts';
import { busy, notFound } from '../../domain/error/refusals.ts';
import type { DiskStore } from '../../oci/disks/disk-store.ts';
import { verifyDisk } from '../../oci/disks/verify-disk.ts';
import { parseDigest } from '../../oci/layout/digest.ts';
import type { GalleryLimit } from '../../ports/provider/gallery.ts';
import type { MachineCommand, MachineCommandResult } from '../../ports/provider/machines.ts';
import { withSnapshotFile } from './gallery/version-work.ts';
import { machineHealth, machinePower, toReport } from './machine/machine-view.ts';
import type { MachineHost } from './qemu/machine-host.ts';
import type { HostContext } from './state/context.ts';
import { readSize } from './state/machine-size.ts';
import { memoryClaims, requireMemory } from './state/memory.ts';

export function createHostExecutor(context: HostContext): Executor {
  const { world, store, host, work } = context;

  function requireRoom(count: number, size: string, instead?: MachineRow): void {
    requireMemory(context.memory, memoryClaims(context, instead?.machineId), {
      count,
      memoryMb: readSize(size).memoryMb,
    });
  }

  return {
    endOf: () => null,
    findDisk: (diskDigest) => findStoredDisk(store, diskDigest),
    workOnVersion: (key) => work.version(key),
    readDigest: (row, signal) => readDigest(store, row, signal),
    galleryLimits: () => bytesLimit(store),

    // The bytes of the copy are known when it has been made; only the version under it is known before.
    captureDisk: ({ digest }) => ({ digest, diskDigest: null, diskBytes: 0, traits: '{}' }),
    workOnSnapshot: ({ name, machineId, deletedAt }) =>
      deletedAt === null ? work.machine(machineId) : work.snapshot(name),
    sealSnapshot: ({ name }, _image, seal, signal) => withSnapshotFile(context, name, signal, seal),

    findSealed: (digest) => findManifest(store, digest),
    machineIds: () => () => randomUUID(),
    checkSize: (size) => void readSize(size),
    requireRoom,
    giveDisk(machine, imaging) {
      const failure = imagingFailure(imaging);
      if (failure !== undefined || 'code' in imaging.source) {
        return { busyWith: null, errorCode: failure?.code ?? null, errorMessage: failure?.message ?? null };
      }
      return {
        busyWith: machine.disk === 0 ? 'creating' : 'updating',
        ...{ nextDigest: imaging.source.digest, nextModel: imaging.model },
        ...(machine.disk === 0 ? { powerTo: 'running', powerDue: 1, needsReport: machine.generalized } : {}),
        ...{ errorCode: null, errorMessage: null },
      };
    },
    applyModel: ({ powerTo }, resized) => ({
      metadataDue: 1,
      resizeDue: Number(resized && powerTo === 'running'),
    }),
    switchPower(machine, to) {
      const power = machinePower(host, machine);
      if ((power === 'running' || power === 'starting') === (to === 'running')) return undefined;
      if (to === 'stopped') return { powerTo: to, powerDue: 1, resume: 0 };
      requireRoom(1, sizeOf(world, machine));
      const unheard = machine.needsReport === 1 ? { busyWith: 'creating' as const } : {};
      return { powerTo: to, powerDue: 1, errorCode: null, errorMessage: null, ...unheard };
    },
    power: (machine) => machinePower(host, machine),
    observe(machine) {
      const { forwards, address } = host.status(machine.machineId);
      const runs = machinePower(host, machine) === 'running';
      return {
        ...machineHealth(context, machine),
        ...(runs && forwards.length > 0 ? { forwards } : {}),
        ...(runs && address !== undefined ? { address } : {}),
      };
    },
    report(machine) {
      const report = host.report(machine.machineId);
      return report && toReport(machine, report);
    },
    nodeReport: ({ machineId }) => host.report(machineId)?.document,
    console: ({ machineId }, lines) => host.console(machineId, lines),
    async runCommand(machine, command, signal) {
      if (machinePower(host, machine) !== 'running') throw busy(`Machine ${machine.name} does not run.`);
      return runCommand(host, machine, command, signal);
    },
    setUserData: () => ({ metadataDue: 1 }),
    allowChange: ({ machineId }, { cost, digest }) =>
      host.tellAgent(machineId, { kind: 'allow', cost, digest }),
    workOnMachines: (machineIds) => machineIds.forEach(work.machine),
  };
}

async function runCommand(
  host: MachineHost,
  { machineId, name }: MachineRow,
  { script, timeoutMs }: MachineCommand,
  signal: AbortSignal,
): Promise<MachineCommandResult> {
  try {
    const result = await host.runCommand(machineId, script, { timeoutMs, signal });
    const { exitCode, stdout, stderr, truncated } = result;
    return { exitCode, stdout, stderr, truncated };
  } catch (thrown) {
    signal.throwIfAborted();
    if (!(thrown instanceof ImagoError)) throw thrown;
    if (thrown.code === 'machine-not-running') throw busy(`Machine ${name} does not run.`);
    if (thrown.code !== 'machine-command-timeout') throw thrown;
    throw new ImagoError('provider-timeout', thrown.message, { cause: thrown });
  }
}

async function readDigest(store: DiskStore, row: VersionRow, signal: AbortSignal): Promise<string> {
  const name = `${row.image}:${row.version}`;
  if (row.digest === null || row.diskDigest === null) {
    throw notFound(`Gallery ${row.gallery} has no complete version ${name}.`);
  }
  const { damages } = await verifyDisk(store, parseDigest(row.digest), { signal });
  const [damage] = damages;
  if (damage === undefined) return row.diskDigest;
  throw new ImagoError('store-corrupt', `The disk of ${name} is damaged: ${damage.message}`);
}

/** Only the disk limits a local gallery. */
async function bytesLimit(store: DiskStore): Promise<readonly GalleryLimit[]> {
  const blobs = await store.blobs.list();
  const used = blobs.reduce((sum, blob) => sum + blob.size, 0);
  const { bavail, bsize } = await statfs(store.root);
  return [{ name: 'bytes', used, limit: used + bavail * bsize }];
}
