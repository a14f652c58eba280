// How a machine is, as far as that is known: from its process, what its agent reported, and how long ago.
import type { MachineRow } from '../../../cloud/state/rows.ts';
import type { NodeReport } from '../../../domain/node/report.ts';
import type { MachineReport } from '../../../ports/provider/machines.ts';
import type { NodeHealth, NodePower } from '../../../ports/provider/pools.ts';
import type { MachineReportLine } from '../qemu/machine-host.ts';
import type { HostContext } from '../state/context.ts';
import type { MachineBoard } from '../state/machine-status-cache.ts';

export function machinePower(board: MachineBoard, row: MachineRow): NodePower {
  const state = board.status(row.machineId)?.state;
  const due = row.powerDue === 1 ? row.powerTo : undefined;
  if (state === 'running') return due === 'stopped' ? 'stopping' : 'running';
  if (state === 'stopping') return 'stopping';
  return state === 'starting' || due === 'running' ? 'starting' : 'stopped';
}

export interface MachineHealth {
  /** Absent for a machine that is made without its agent, as long as none reported. */
  readonly health?: NodeHealth;
  /** Why it is not healthy, if more is known than that it has not come up yet. */
  readonly trouble?: string;
}

/** An agent that applies a config reports nothing until it has ended: downloads and restarts take their time. */
const applyMs = 20 * 60_000;

export function machineHealth({ board, limits }: HostContext, row: MachineRow): MachineHealth {
  if (machinePower(board, row) !== 'running') return { health: 'unknown' };
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

/** A node that is ready stays so while it applies a new config, and reports before that which one it wants. */
function isApplying({ phase, wanted, waiting, error }: NodeReport): boolean {
  if (phase !== 'ready') return true;
  return wanted !== undefined && waiting === undefined && error === undefined;
}

/** Returns what the agent reported, in the terms of the port. */
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
