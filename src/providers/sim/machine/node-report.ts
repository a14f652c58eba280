// What the agent of a simulated node reports, and what it does with a config that changes while it runs.
import { isoTime } from '../../../cloud/state/cloud.ts';
import { userDataOf } from '../../../cloud/state/machine-rows.ts';
import type { MachineRow } from '../../../cloud/state/rows.ts';
import { type NodeReport, nodeReportSchema } from '../../../domain/node/report.ts';
import { type NodeWords, splitWords } from '../../../domain/node-config/words.ts';
import type { SimTiming } from '../world/context.ts';
import { readTraits } from '../world/traits.ts';
import { agentFails, reportOf, timelineOf } from './boot.ts';
import { type Answer, answerTo, configRef } from './node-agent.ts';

/** How often agents look for a new config. */
const pollMs = 5000;

/** Returns the config that the agent last read and kept. */
export function inForce(context: SimTiming, row: MachineRow): string {
  const { config: now, words } = splitWords(userDataOf(context.world, row));
  if (!changedWhileRunning(row)) return now;
  const before = row.userDataBefore ?? now;
  return context.world.time() >= appliedAt(context, row) && answerOf(row, now, words).inForce ? now : before;
}

function changedWhileRunning(row: MachineRow): row is MachineRow & { userDataAt: number } {
  return row.userDataAt !== null && row.userDataAt > (row.bootedAt ?? 0);
}

function answerOf(row: MachineRow, wanted: string, { allow }: NodeWords): Answer {
  const traits = readTraits(row.traits);
  const answer = answerTo(row.userDataBefore ?? wanted, wanted, traits, agentFails(row, traits));
  const { waiting } = answer;
  const isAllowed = waiting?.digest === allow?.digest && waiting?.for === allow?.cost;
  return waiting !== undefined && isAllowed ? { inForce: true, pending: [] } : answer;
}

function noticedAt(context: SimTiming, row: MachineRow): number {
  const { endsAt } = timelineOf(context, row, readTraits(row.traits));
  return Math.max(endsAt, row.userDataAt ?? 0) + pollMs;
}

function appliedAt(context: SimTiming, row: MachineRow): number {
  return noticedAt(context, row) + context.durationOf('apply', `${row.machineId}/${row.userDataAt}`);
}

export function nodeReport(context: SimTiming, row: MachineRow): NodeReport | undefined {
  const boot = reportOf(context, row);
  if (boot === undefined) return undefined;
  const common = {
    schema: nodeReportSchema,
    machineId: row.machineId,
    bootId: `${row.machineId}/${row.bootedAt}`,
    agentVersion: 'sim',
    steps: [],
    timeline: [],
  } as const;
  const { config: now, words } = splitWords(userDataOf(context.world, row));
  const before = changedWhileRunning(row) ? (row.userDataBefore ?? now) : now;
  const settled = { ...common, at: boot.at, phase: boot.phase, pending: [] };
  if (boot.phase === 'failed') {
    const message = boot.facts.error ?? 'the agent failed';
    return {
      ...settled,
      wanted: configRef(before),
      error: { class: 'operation-failed', message, retry: false },
    };
  }
  if (boot.phase !== 'ready') return { ...settled, wanted: configRef(before) };
  const wrong = answerTo('{}', before, readTraits(row.traits), false).error;
  if (wrong !== undefined) return { ...settled, phase: 'failed', wanted: configRef(before), error: wrong };
  const { time } = context.world;
  if (!changedWhileRunning(row) || time() < noticedAt(context, row))
    return { ...settled, config: configRef(before) };
  const changed = { ...common, config: configRef(before), wanted: configRef(now), pending: [] };
  if (time() < appliedAt(context, row)) {
    return { ...changed, at: isoTime(noticedAt(context, row)), phase: 'applying' };
  }
  const { inForce: applied, ...answer } = answerOf(row, now, words);
  const at = isoTime(appliedAt(context, row));
  if (applied) return { ...common, at, phase: 'ready', config: configRef(now), pending: [] };
  return { ...changed, ...answer, at, phase: 'ready' };
}
