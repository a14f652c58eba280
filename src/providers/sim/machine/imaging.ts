// When a simulated machine has its disk and runs: every time is known when the work starts.
import type { Bend, Imaging } from '../../../cloud/state/cloud.ts';
import { imagingFailure, modelsConfig } from '../../../cloud/state/machine-rows.ts';
import type { MachineRow } from '../../../cloud/state/rows.ts';
import type { NodePower } from '../../../ports/provider/pools.ts';
import { endOf, type SimTiming } from '../world/context.ts';
import { readTraits } from '../world/traits.ts';

/** A machine that cannot get a disk keeps what it had, and is `failed`. */
export function giveDisk(timing: SimTiming, row: MachineRow, imaging: Imaging): Partial<MachineRow> {
  const { kind, source, bend } = imaging;
  const busyWith = row.disk === 0 ? 'creating' : 'updating';
  const failure = imagingFailure(imaging);
  if (failure !== undefined || 'code' in source) {
    return {
      busyWith,
      readyAt: endOf(timing, 'code' in source ? 'missingImage' : kind, row.name, bend),
      errorCode: failure?.code ?? null,
      errorMessage: failure?.message ?? null,
    };
  }
  const now = timing.world.time();
  const waits = imaging.batch === 0 ? 0 : imaging.batch * timing.durationOf('nodeBatch', row.pool ?? '');
  const switchedOn = endOf(timing, kind, row.name, bend) + waits;
  const boots = readTraits(source.traits).breaks !== 'boot';
  return {
    busyWith,
    readyAt: boots ? switchedOn : endOf(timing, 'provisioningTimeout', row.name, bend) + waits,
    imagedAt: now,
    bootedAt: switchedOn,
    ...{ powerTo: 'running', powerSince: now, powerAt: switchedOn },
    ...{ disk: row.disk + 1, digest: source.digest, diskBytes: source.diskBytes, traits: source.traits },
    ...{ diskModel: imaging.model, appliedModel: imaging.model },
    ...modelsConfig,
    errorCode: boots ? null : 'OSProvisioningTimedOut',
    errorMessage: boots ? null : `The operating system of ${row.name} did not come up in the time it has.`,
  };
}

export function switchPower(
  timing: SimTiming,
  row: MachineRow,
  to: MachineRow['powerTo'],
  bend: Bend,
): Partial<MachineRow> | undefined {
  if (row.powerTo === to) return undefined;
  const now = timing.world.time();
  const what = `${row.pool === null ? 'Machine' : 'Node'} ${row.name}`;
  const took = endOf(timing, to === 'running' ? 'nodeStart' : 'nodeStop', what, bend) - now;
  const powerAt = Math.max(now, row.powerAt ?? now) + took;
  return { powerTo: to, powerSince: now, powerAt, bootedAt: to === 'running' ? powerAt : row.bootedAt };
}

export function powerOf(row: MachineRow, now: number): NodePower {
  if (row.powerAt === null || now >= row.powerAt) return row.powerTo;
  return row.powerTo === 'running' ? 'starting' : 'stopping';
}
