// Machines as they are stored, of a pool or single, and the rules that hold for both.

import { busy, conflict } from '../../domain/error/refusals.ts';
import type { ProvisioningError, ProvisioningState } from '../../ports/provider/call.ts';
import type { MachineSpec } from '../../ports/provider/machines.ts';
import type { Bend, Cloud, Imaging } from './cloud.ts';
import { readModel } from './models.ts';
import type { MachineRow } from './rows.ts';
import type { World } from './state-file.ts';
import { errorOf } from './version-rows.ts';

export function machineById(world: World, machineId: string): MachineRow | undefined {
  return world.get<MachineRow>('SELECT * FROM machine WHERE machineId = ?', machineId);
}

export function changeMachine(world: World, machineId: string, columns: Partial<MachineRow>): void {
  if (Object.keys(columns).length > 0) world.update('machine', { machineId }, columns);
}

type NewMachine = Pick<
  MachineRow,
  'machineId' | 'pool' | 'name' | 'ordinal' | 'region' | 'zone' | 'spec' | 'firmware' | 'generalized'
>;

const nothingDue = {
  ...{ nextDigest: null, nextModel: null, powerDue: 0, metadataDue: 0, resizeDue: 0 },
  ...{ needsReport: 0, resume: 0 },
} as const;

/** Creates a machine that is to get its first disk, or that never will. Returns its row. */
export function createMachineRow(
  { world, executor }: Cloud,
  given: NewMachine,
  imaging: Imaging,
): MachineRow {
  const now = world.time();
  const empty: MachineRow = {
    ...given,
    ...{ diskModel: imaging.model, appliedModel: imaging.model },
    ...modelsConfig,
    ...{ disk: 0, imagedAt: now, digest: null, diskBytes: null, traits: '{}' },
    ...{ busyWith: 'creating', readyAt: null },
    ...{ powerTo: 'stopped', powerSince: now, powerAt: now, bootedAt: null },
    ...{ protectScaleIn: 0, protectActions: 0 },
    ...nothingDue,
    ...{ errorCode: null, errorMessage: null, createdAt: now, deletedAt: null, goneAt: null },
  };
  const row = { ...empty, ...executor.giveDisk(empty, imaging) };
  world.insert('machine', row);
  return row;
}

/** A node that is brought to the model reads the model's config again. */
export const modelsConfig = { userData: null, userDataBefore: null, userDataAt: null } as const;

/** Returns why the machine cannot get its disk, if so. */
export function imagingFailure({ source, bend }: Imaging): ProvisioningError | undefined {
  return 'code' in source ? source : bend.failure;
}

export function machineState(row: MachineRow, now: number): ProvisioningState {
  if (row.deletedAt !== null) return 'deleting';
  if (row.busyWith !== null && (row.readyAt === null || now < row.readyAt)) return row.busyWith;
  return row.errorCode === null ? 'ready' : 'failed';
}

export function machineError(row: MachineRow, now: number): ProvisioningError | undefined {
  return machineState(row, now) === 'failed' ? errorOf(row) : undefined;
}

/** Refuses work on a machine that is being made, changed or deleted. */
export function requireSettled(row: MachineRow, what: string, now: number): void {
  const state = machineState(row, now);
  if (state !== 'ready' && state !== 'failed') throw busy(`${what} is ${state}.`);
}

/** Returns what changes when the machine is switched; `undefined` for nothing. */
export function switchPower(
  { world, executor }: Cloud,
  row: MachineRow,
  to: MachineRow['powerTo'],
  what: string,
  bend: Bend,
): Partial<MachineRow> | undefined {
  requireSettled(row, what, world.time());
  if (row.disk === 0) throw conflict(`${what} was never made: it has no disk to start from.`);
  return bend.failure === undefined ? executor.switchPower(row, to, bend) : undefined;
}

export function diskName({ machineId }: Pick<MachineRow, 'machineId'>): string {
  return `disk/${machineId}`;
}

export function sizeOf(world: World, row: MachineRow): string {
  if (row.spec !== null) return (JSON.parse(row.spec) as MachineSpec).size;
  return readModel(world, row.appliedModel ?? '').size;
}

/** Returns the text that a machine reads: its own, the one it was made with, or the model's. */
export function userDataOf(world: World, row: MachineRow): string {
  if (row.userData === null && row.spec !== null) return (JSON.parse(row.spec) as MachineSpec).userData;
  return row.userData ?? readModel(world, row.appliedModel ?? '').nodeConfig;
}
