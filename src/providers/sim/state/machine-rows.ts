// What pool nodes and single machines have in common: a disk, power, and a state that follows from stored times.

import type { Bend } from '../../../cloud/state/cloud.ts';
import { busy, conflict } from '../../../cloud/state/refusals.ts';
import type { DiskContent } from '../../../cloud/state/rows.ts';
import type { ProvisioningError, ProvisioningState } from '../../../ports/provider/call.ts';
import type { NodePower } from '../../../ports/provider/pools.ts';
import { endOf, type SimContext } from '../world/context.ts';
import type { DurationKind } from '../world/durations.ts';
import { readTraits } from '../world/traits.ts';

export interface MachineColumns {
  readonly machineId: string;
  /** What it is busy with until `readyAt`. */
  readonly busyWith: 'creating' | 'updating';
  readonly readyAt: number;
  readonly imagedAt: number;
  /** When it was, or will be, last switched on. */
  readonly bootedAt: number;
  readonly powerTo: 'running' | 'stopped';
  /** When that was asked for, and when it is reached. */
  readonly powerSince: number;
  readonly powerAt: number;
  readonly hasDisk: number;
  readonly diskBytes: number;
  readonly traits: string;
  readonly errorCode: string | null;
  readonly errorMessage: string | null;
  readonly createdAt: number;
  readonly goneAt: number | null;
}

export function machineState(row: MachineColumns, now: number): ProvisioningState {
  if (row.goneAt !== null) return 'deleting';
  if (now < row.readyAt) return row.busyWith;
  return row.errorCode === null ? 'ready' : 'failed';
}

export function machinePower(row: MachineColumns, now: number): NodePower {
  if (now >= row.powerAt) return row.powerTo;
  return row.powerTo === 'running' ? 'starting' : 'stopping';
}

export function machineError(row: MachineColumns, now: number): ProvisioningError | undefined {
  if (machineState(row, now) !== 'failed' || row.errorCode === null) return undefined;
  return { code: row.errorCode, message: row.errorMessage ?? row.errorCode };
}

export function diskName(row: Pick<MachineColumns, 'machineId'>): string {
  return `disk/${row.machineId}`;
}

/** What a machine is made from: the disk's content, or why there is none. */
export type DiskSource = DiskContent | ProvisioningError;

export interface Imaging {
  readonly kind: DurationKind;
  readonly name: string;
  readonly source: DiskSource;
  /** Milliseconds until it is its turn. */
  readonly waits: number;
  readonly bend: Bend;
}

type ImagedColumns = Omit<MachineColumns, 'machineId' | 'createdAt' | 'goneAt' | 'busyWith'>;

/** The columns of a machine that gets a disk for the first time. */
export function imagedFirst(context: SimContext, imaging: Imaging): ImagedColumns & { busyWith: 'creating' } {
  const now = context.world.time();
  const failure = failureOf(imaging);
  if (failure === undefined) return { ...imaged(context, imaging), busyWith: 'creating' };
  return {
    busyWith: 'creating',
    readyAt: failedAt(context, imaging),
    imagedAt: now,
    bootedAt: now,
    powerTo: 'stopped',
    powerSince: now,
    powerAt: now,
    hasDisk: 0,
    diskBytes: 0,
    traits: '{}',
    errorCode: failure.code,
    errorMessage: failure.message,
  };
}

/** The columns that change when it gets a new one. When that fails it keeps what it had, and is `failed`. */
export function imagedAgain(
  context: SimContext,
  imaging: Imaging,
): Partial<MachineColumns> & { readonly done: boolean } {
  const failure = failureOf(imaging);
  if (failure === undefined) return { ...imaged(context, imaging), busyWith: 'updating', done: true };
  return {
    busyWith: 'updating',
    readyAt: failedAt(context, imaging),
    errorCode: failure.code,
    errorMessage: failure.message,
    done: false,
  };
}

function imaged(context: SimContext, imaging: Imaging): ImagedColumns {
  const now = context.world.time();
  const { kind, name, source, bend } = imaging;
  if ('code' in source) throw new TypeError('A machine without a disk cannot be imaged.');
  const switchedOn = endOf(context, kind, name, bend) + imaging.waits;
  const boots = readTraits(source.traits).breaks !== 'boot';
  return {
    readyAt: boots ? switchedOn : endOf(context, 'provisioningTimeout', name, bend) + imaging.waits,
    imagedAt: now,
    bootedAt: switchedOn,
    powerTo: 'running',
    powerSince: now,
    powerAt: switchedOn,
    hasDisk: 1,
    diskBytes: source.diskBytes ?? 0,
    traits: source.traits,
    errorCode: boots ? null : 'OSProvisioningTimedOut',
    errorMessage: boots ? null : `The operating system of ${name} did not come up in the time it has.`,
  };
}

function failureOf({ source, bend }: Imaging): ProvisioningError | undefined {
  return 'code' in source ? source : bend.failure;
}

function failedAt(context: SimContext, imaging: Imaging): number {
  const kind = 'code' in imaging.source ? 'missingImage' : imaging.kind;
  return endOf(context, kind, imaging.name, imaging.bend);
}

/** Refuses work on a machine that is being made, changed or deleted. */
export function requireSettled(row: MachineColumns, what: string, now: number): void {
  const state = machineState(row, now);
  if (state === 'ready' || state === 'failed') return;
  throw busy(`${what} is ${state}.`);
}

type PowerColumns = Pick<MachineColumns, 'powerTo' | 'powerSince' | 'powerAt' | 'bootedAt'>;

/** What changes when it is switched; `undefined` when it is on the way there already. */
export function switchPower(
  context: SimContext,
  row: MachineColumns,
  to: 'running' | 'stopped',
  what: string,
  bend: Bend,
): PowerColumns | undefined {
  const now = context.world.time();
  requireSettled(row, what, now);
  if (row.hasDisk === 0) throw conflict(`${what} was never made: it has no disk to start from.`);
  if (row.powerTo === to || bend.failure !== undefined) return undefined;
  const took = endOf(context, to === 'running' ? 'nodeStart' : 'nodeStop', what, bend) - now;
  const powerAt = Math.max(now, row.powerAt) + took;
  return { powerTo: to, powerSince: now, powerAt, bootedAt: to === 'running' ? powerAt : row.bootedAt };
}
