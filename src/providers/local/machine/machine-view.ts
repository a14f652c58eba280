// Derives the power state and health of a machine from its process and from the reports of its agent.
import type { MachineRow } from '../../../cloud/state/rows.ts';
import type { NodeReport } from '../../../domain/node/report.ts';
import type { MachineReport } from '../../../ports/provider/machines.ts';
import type { NodeHealth, NodePower } from '../../../ports/provider/pools.ts';
import type { MachineHost, MachineReportLine } from '../qemu/machine-host.ts';
import type { HostContext } from '../state/context.ts';

export function machinePower(host: MachineHost, row: MachineRow): NodePower {
  const { state } = host.status(row.machineId);
  const due = row.powerDue === 1 ? row.powerTo : undefined;
  if (state === 'running') return due === 'stopped' ? 'stopping' : 'running';
  if (state === 'stopping') return 'stopping';
  return state === 'starting' || due === 'running' ? 'starting' : 'stopped';
}

export interface MachineHealth {
  /** Absent for a specialized machine whose agent never reported. */
  readonly health?: NodeHealth;
  /** Why it is not healthy, if that is known. */
  readonly trouble?: string;
}

/** An agent that applies a config does not report until it has finished: downloads and restarts take time. */
const applyMs = 20 * 60_000;

export function machineHealth({ host, limits }: HostContext, row: MachineRow): MachineHealth {
  if (machinePower(host, row) !== 'running') return { health: 'unknown' };
  const { halt } = host.status(row.machineId);
  if (halt !== undefined) return { health: 'unhealthy', trouble: halt.message };
  const report = host.report(row.machineId);
  const heard = host.lastHeard(row.machineId);
  if (heard === undefined) return row.generalized === 1 ? { health: 'unknown' } : {};
  if (report === undefined) {
    if (heard.ageMs <= limits.silenceMs) return { health: 'unknown' };
    return {
      health: 'unknown',
      trouble: `It restarted at ${heard.at}, and its agent has not reported since.`,
    };
  }
  if (report.phase === 'failed') return { health: 'unhealthy', trouble: errorText(report.document) };
  if (heard.ageMs > (isApplying(report.document) ? applyMs : limits.silenceMs)) {
    return {
      health: 'unknown',
      trouble: `Its agent has not reported since ${heard.at}. Check its console.`,
    };
  }
  return { health: report.phase === 'ready' ? 'healthy' : 'unknown' };
}

/** A ready node stays ready while it applies a new config, and reports that config first. */
function isApplying({ phase, wanted, waiting, error }: NodeReport): boolean {
  if (phase !== 'ready') return true;
  return wanted !== undefined && waiting === undefined && error === undefined;
}

/** Returns what the agent reported, in the terms of the port. */
export function toReport(row: MachineRow, line: MachineReportLine): MachineReport {
  const { document } = line;
  const facts: Record<string, string | undefined> = {
    machineId: document.machineId ?? row.machineId,
    bootId: document.bootId,
    agentVersion: document.agentVersion,
    nodeConfig: document.config && `sha256:${document.config.digest}`,
    waiting: document.waiting?.for,
    error: line.phase === 'failed' || document.error !== undefined ? errorText(document) : undefined,
  };
  const known = Object.entries(facts).filter((fact): fact is [string, string] => fact[1] !== undefined);
  return { phase: line.phase, at: line.at, facts: Object.fromEntries(known), node: document };
}

export function errorText({ error }: NodeReport): string {
  if (error === undefined) return 'The agent failed without a reason.';
  return error.remedy === undefined ? error.message : `${error.message} ${error.remedy}`;
}
