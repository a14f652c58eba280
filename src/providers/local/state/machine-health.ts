// How a machine is, as far as that is known: by what its agent said, how long ago, and whether it runs at all.
import type { NodeReport } from '../../../domain/node/report.ts';
import type { NodeHealth } from '../../../ports/provider/pools.ts';
import type { LocalContext } from './context.ts';
import { errorSaid, type MachineRow, machinePower } from './machine-rows.ts';

export interface MachineHealth {
  /** Absent for a machine that is made without its agent, as long as none reported. */
  readonly health?: NodeHealth;
  /** Why it is not healthy, when more is known than that it has not come up yet. */
  readonly trouble?: string;
}

/** An agent that applies a config says nothing until it has ended: downloads and restarts of services take their time. */
const applyMs = 20 * 60_000;

export function machineHealth(context: LocalContext, row: MachineRow): MachineHealth {
  const { board, hostLimits: limits } = context;
  if (machinePower(context, row) !== 'running') return { health: 'unknown' };
  const halt = board.status(row.machineId)?.halt;
  if (halt !== undefined) return { health: 'unhealthy', trouble: halt.message };
  const report = board.report(row.machineId);
  const word = board.lastWord(row.machineId);
  if (word === undefined) return row.generalized === 1 ? { health: 'unknown' } : {};
  if (report === undefined) {
    if (word.ageMs <= limits.silenceMs) return { health: 'unknown' };
    return { health: 'unknown', trouble: `It restarted at ${word.at}, and its agent has not spoken since.` };
  }
  if (report.phase === 'failed') return { health: 'unhealthy', trouble: errorSaid(report.document) };
  if (word.ageMs > (isApplying(report.document) ? applyMs : limits.silenceMs)) {
    return {
      health: 'unknown',
      trouble: `Its agent has been silent since ${word.at}: see what its console says.`,
    };
  }
  return { health: report.phase === 'ready' ? 'healthy' : 'unknown' };
}

/** A node that is ready stays so while it takes a new config in, and says before that which one it wants. */
function isApplying({ phase, wanted, waiting, error }: NodeReport): boolean {
  if (phase !== 'ready') return true;
  return wanted !== undefined && waiting === undefined && error === undefined;
}
