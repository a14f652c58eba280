// The config of running nodes in the simulated world, and what their agents report.

import { change, look } from '../../../cloud/state/call.ts';
import type { Bend } from '../../../cloud/state/cloud.ts';
import { isoTime } from '../../../cloud/state/cloud.ts';
import { readModel } from '../../../cloud/state/models.ts';
import type { World } from '../../../cloud/state/state-file.ts';
import type { NodeReport } from '../../../domain/node/report.ts';
import { nodeReportSchema } from '../../../domain/node/report.ts';
import type { AllowedChange, NodeConfigs } from '../../../ports/provider/node-configs.ts';
import { agentFails, reportOf, timelineOf } from '../state/boot.ts';
import { findNode, type NodeRow, requireNode } from '../state/pool-rows.ts';
import type { SimContext } from '../world/context.ts';
import { readTraits } from '../world/traits.ts';
import { answerTo, configRef } from './node-agent.ts';

/** How often agents look for a new config. */
const pollMs = 5000;

export function simNodeConfigs(context: SimContext): NodeConfigs {
  const { world } = context;
  return {
    getUserData: (pool, node, options) =>
      look(context, options, () => userDataOf(world, requireNode(world, pool, node))),
    hasOwnUserData: (pool, node, options) =>
      look(context, options, () => requireNode(world, pool, node).userData !== null),
    setUserData: (pool, node, userData, options) =>
      change(context, `node ${node}`, options, (bend) =>
        setUserData(context, requireNode(world, pool, node), userData, bend),
      ),
    allowChange: (pool, node, allowed, options) =>
      change(context, `node ${node}`, options, (bend) =>
        allowChange(context, requireNode(world, pool, node), allowed, bend),
      ),
    getReport: (pool, node, options) =>
      look(context, options, () => {
        const row = findNode(world, pool, node) ?? requireNode(world, pool, node);
        return nodeReport(context, row);
      }),
  };
}

function userDataOf(world: World, row: NodeRow): string {
  return row.userData ?? readModel(world, row.appliedModel).nodeConfig;
}

function setUserData(context: SimContext, row: NodeRow, userData: string, bend: Bend): void {
  const { world } = context;
  if (userDataOf(world, row) === userData || bend.failure !== undefined) return;
  world.run(
    'UPDATE node SET userData = ?, userDataBefore = ?, userDataAt = ? WHERE pool = ? AND name = ?',
    userData,
    inForce(context, row),
    world.time(),
    row.pool,
    row.name,
  );
}

/** A document that the agent has nothing to ask about any more is in force once it is applied. */
function allowChange(context: SimContext, row: NodeRow, { cost, digest }: AllowedChange, bend: Bend): void {
  const waiting = nodeReport(context, row)?.waiting;
  if (bend.failure !== undefined || waiting?.digest !== digest || waiting.for !== cost) return;
  const { world } = context;
  world.run(
    'UPDATE node SET userDataBefore = userData, userDataAt = ? WHERE pool = ? AND name = ?',
    world.time(),
    row.pool,
    row.name,
  );
}

/** What the agent last read and kept. */
function inForce(context: SimContext, row: NodeRow): string {
  const now = userDataOf(context.world, row);
  if (!changedWhileRunning(row)) return now;
  const before = row.userDataBefore ?? now;
  return context.world.time() >= appliedAt(context, row) && answerOf(row, now).inForce ? now : before;
}

function changedWhileRunning(row: NodeRow): row is NodeRow & { userDataAt: number } {
  return row.userDataAt !== null && row.userDataAt > row.bootedAt;
}

function answerOf(row: NodeRow, wanted: string) {
  const traits = readTraits(row.traits);
  return answerTo(row.userDataBefore ?? wanted, wanted, traits, agentFails(row, traits));
}

function noticedAt(context: SimContext, row: NodeRow): number {
  const { endsAt } = timelineOf(context, row, readTraits(row.traits));
  return Math.max(endsAt, row.userDataAt ?? 0) + pollMs;
}

function appliedAt(context: SimContext, row: NodeRow): number {
  return noticedAt(context, row) + context.durationOf('apply', `${row.machineId}/${row.userDataAt}`);
}

function nodeReport(context: SimContext, row: NodeRow): NodeReport | undefined {
  const boot = reportOf(context, row, {});
  if (boot === undefined) return undefined;
  const common = {
    schema: nodeReportSchema,
    machineId: row.machineId,
    bootId: `${row.machineId}/${row.bootedAt}`,
    agentVersion: 'sim',
    steps: [],
    timeline: [],
  } as const;
  const now = userDataOf(context.world, row);
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
  const { inForce: applied, ...answer } = answerOf(row, now);
  const at = isoTime(appliedAt(context, row));
  if (applied) return { ...common, at, phase: 'ready', config: configRef(now), pending: [] };
  return { ...changed, ...answer, at, phase: 'ready' };
}
