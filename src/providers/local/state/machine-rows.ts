// A machine as it is stored, of a pool or single, and what it looks like now: what is to be done comes from the
// row, power and word from the host.
import { join } from 'node:path';
import { readModel } from '../../../cloud/state/models.ts';
import { busy, conflict } from '../../../cloud/state/refusals.ts';
import type { World } from '../../../cloud/state/state-file.ts';
import type { NodeReport } from '../../../domain/node/report.ts';
import type { ProvisioningError, ProvisioningState } from '../../../ports/provider/call.ts';
import type { MachineReport, MachineSpec } from '../../../ports/provider/machines.ts';
import type { NodePower } from '../../../ports/provider/pools.ts';
import type { MachineReportLine } from '../qemu/machine-host.ts';
import type { LocalContext } from './context.ts';
import { readSize } from './machine-size.ts';
import { type MemoryClaim, requireMemory } from './memory.ts';

export interface MachineRow {
  readonly machineId: string;
  /** Of a single machine: none. */
  readonly pool: string | null;
  readonly name: string;
  readonly ordinal: number;
  /** Of a single machine. */
  readonly spec: string | null;
  /** Of a node: the models that its disk was made from, that it was last brought to, and that it waits for. */
  readonly diskModel: string | null;
  readonly appliedModel: string | null;
  readonly nextModel: string | null;
  /** Of a node: its own config, when it was given one. */
  readonly userData: string | null;
  readonly firmware: MachineSpec['firmware'];
  /** The version that its disk was made from, and the one that a new disk is to be made from. */
  readonly content: string | null;
  readonly nextContent: string | null;
  /** Counts its disks; 0 while it has none. */
  readonly disk: number;
  readonly busyWith: 'creating' | 'updating' | null;
  /** It is not made before its agent has spoken. */
  readonly needsWord: number;
  readonly generalized: number;
  readonly powerTo: 'running' | 'stopped';
  /** What is still to be done. */
  readonly powerDue: number;
  readonly metadataDue: number;
  readonly resizeDue: number;
  /** It ran when everything was stopped, and runs again when everything starts. */
  readonly resume: number;
  readonly bootedAt: number | null;
  readonly imagedAt: number;
  readonly protectScaleIn: number;
  readonly protectActions: number;
  readonly errorCode: string | null;
  readonly errorMessage: string | null;
  readonly createdAt: number;
  readonly deleting: number;
}

/** A machine that is to get its first disk, or that never will. */
export function newMachine(
  parts: Pick<MachineRow, 'machineId' | 'pool' | 'name' | 'ordinal' | 'spec' | 'firmware' | 'generalized'> & {
    readonly model: string | null;
    readonly source: { readonly digest: string } | ProvisioningError;
    readonly now: number;
  },
): MachineRow {
  const { model, source, now, ...given } = parts;
  const failure = 'code' in source ? source : undefined;
  return {
    ...given,
    diskModel: model,
    appliedModel: model,
    nextModel: model,
    userData: null,
    content: null,
    nextContent: 'code' in source ? null : source.digest,
    disk: 0,
    busyWith: failure === undefined ? 'creating' : null,
    needsWord: given.generalized,
    powerTo: failure === undefined ? 'running' : 'stopped',
    powerDue: failure === undefined ? 1 : 0,
    metadataDue: 0,
    resizeDue: 0,
    resume: 0,
    bootedAt: null,
    imagedAt: now,
    protectScaleIn: 0,
    protectActions: 0,
    errorCode: failure?.code ?? null,
    errorMessage: failure?.message ?? null,
    createdAt: now,
    deleting: 0,
  };
}

export function machineById(world: World, machineId: string): MachineRow | undefined {
  return world.get<MachineRow>('SELECT * FROM machine WHERE machineId = ?', machineId);
}

export function changeMachine(world: World, machineId: string, columns: Partial<MachineRow>): void {
  world.update('machine', { machineId }, columns);
}

export function machineState(row: MachineRow): ProvisioningState {
  if (row.deleting === 1) return 'deleting';
  if (row.busyWith !== null) return row.busyWith;
  return row.errorCode === null ? 'ready' : 'failed';
}

export function machinePower({ board }: LocalContext, row: MachineRow): NodePower {
  const state = board.status(row.machineId)?.state;
  const due = row.powerDue === 1 ? row.powerTo : undefined;
  if (state === 'running') return due === 'stopped' ? 'stopping' : 'running';
  if (state === 'stopping') return 'stopping';
  return state === 'starting' || due === 'running' ? 'starting' : 'stopped';
}

export function machineError(row: MachineRow): ProvisioningError | undefined {
  if (machineState(row) !== 'failed' || row.errorCode === null) return undefined;
  return { code: row.errorCode, message: row.errorMessage ?? row.errorCode };
}

export function diskName({ machineId }: Pick<MachineRow, 'machineId'>): string {
  return `disk/${machineId}`;
}

export function machineFolder({ paths }: LocalContext, machineId: string): string {
  return join(paths.machines, machineId);
}

/** What the agent said, in the words of the port. */
export function toReport(row: MachineRow, line: MachineReportLine): MachineReport {
  const said = line.document;
  const facts: Record<string, string | undefined> = {
    machineId: said.machineId ?? row.machineId,
    bootId: said.bootId,
    agentVersion: said.agentVersion,
    nodeConfig: said.config && `sha256:${said.config.digest}`,
    waiting: said.waiting?.for,
    error: line.phase === 'failed' || said.error !== undefined ? errorSaid(said) : undefined,
  };
  const known = Object.entries(facts).filter((fact): fact is [string, string] => fact[1] !== undefined);
  return { phase: line.phase, at: line.at, facts: Object.fromEntries(known), node: said };
}

export function errorSaid({ error }: NodeReport): string {
  if (error === undefined) return 'the agent failed without a reason';
  return error.remedy === undefined ? error.message : `${error.message} ${error.remedy}`;
}

/** Refuses work on a machine that is being made, changed or deleted. */
export function requireSettled(row: MachineRow, what: string): void {
  const state = machineState(row);
  if (state !== 'ready' && state !== 'failed') throw busy(`${what} is ${state}.`);
}

/** What changes when it is switched; `undefined` when it is there, or on the way there, already. */
export function switchPower(
  context: LocalContext,
  row: MachineRow,
  to: 'running' | 'stopped',
  what: string,
): Partial<MachineRow> | undefined {
  requireSettled(row, what);
  if (row.disk === 0) throw conflict(`${what} was never made: it has no disk to start from.`);
  const power = machinePower(context, row);
  if (
    to === 'running'
      ? power === 'running' || power === 'starting'
      : power !== 'running' && power !== 'starting'
  ) {
    return undefined;
  }
  if (to === 'stopped') return { powerTo: to, powerDue: 1, resume: 0 };
  const memoryMb = readSize(sizeOf(context.world, row)).memoryMb;
  requireMemory(context.memory, memoryClaims(context), { count: 1, memoryMb });
  const unheard = row.needsWord === 1 ? { busyWith: 'creating' as const } : {};
  return { powerTo: to, powerDue: 1, errorCode: null, errorMessage: null, ...unheard };
}

export function sizeOf(world: World, row: MachineRow): string {
  if (row.spec !== null) return (JSON.parse(row.spec) as MachineSpec).size;
  return readModel(world, row.appliedModel ?? '').size;
}

/** Every machine that runs or is to run, but for one. */
export function memoryClaims({ world, board }: LocalContext, but = ''): readonly MemoryClaim[] {
  const claims: MemoryClaim[] = [];
  for (const row of world.all<MachineRow>(
    'SELECT * FROM machine WHERE deleting = 0 AND machineId <> ?',
    but,
  )) {
    const pid = board.status(row.machineId)?.pid;
    if (pid === undefined && (row.powerTo === 'stopped' || row.powerDue === 0)) continue;
    claims.push({ memoryMb: readSize(sizeOf(world, row)).memoryMb, pid });
  }
  return claims;
}
