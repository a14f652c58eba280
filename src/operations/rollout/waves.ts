// The steps of a rollout that move nodes: each wave, and the way back, is a durable wait for the operations that it
// starts.
import { operationRequest } from '../../domain/operation/declaration.ts';
import { rolloutNode } from '../../domain/rollout/operations.ts';
import {
  decideWave,
  type MoveReason,
  type NodeInWave,
  type WaveDecision,
} from '../../domain/rollout/wave.ts';
import { nextOpening, parseWindow } from '../../domain/rollout/window.ts';
import { parseDuration } from '../../domain/value/duration.ts';
import type { Looked, Run } from '../common/operation.ts';
import { openPool } from '../node/pool-nodes.ts';
import { moveId, readMoves, type SeenPool, seePool } from './observe.ts';
import { probeNodes } from './probes.ts';
import { drainOf, isAt, type RolloutInput, type RolloutPlan } from './target.ts';

export interface WaveResult {
  readonly failed: readonly string[];
  /** What was observed; present if the pool has to return to its last good version. */
  readonly breach?: string;
}

export type RolloutRun = Run<RolloutInput, { readonly plan: RolloutPlan } & Record<string, unknown>>;

/** A node that ends wakes the step; a message that is lost costs this much. */
const maxCheckMs = 15_000;
/** Every check is recorded, so nodes that are only observed are read less often. */
const observeMs = 60_000;
const manyNodes = 1000;
const pauseMsPerNode = 0.1;

/** A look at many nodes takes a while, and each node that ends asks for one. */
const lastLooks = new Map<string, { readonly until: number; readonly sentence: string }>();

/** Skips a look that comes too early. What is remembered is not needed: another process looks immediately. */
export async function paced(
  run: RolloutRun,
  look: () => Promise<Looked<WaveResult>>,
): Promise<Looked<WaveResult>> {
  const { id } = run.operation;
  const last = lastLooks.get(id);
  const now = performance.now();
  if (last !== undefined && last.until > now) return { againMs: last.until - now, sentence: last.sentence };
  const found = await look();
  const count = run.result('plan').waves.reduce((sum, { nodes }) => sum + nodes.length, 0);
  if ('done' in found || count < manyNodes) lastLooks.delete(id);
  else lastLooks.set(id, { until: performance.now() + count * pauseMsPerNode, sentence: found.sentence });
  return found;
}

export async function lookAtWave(run: RolloutRun, wave: string): Promise<Looked<WaveResult>> {
  const { input, operation, clock } = run;
  const plan = run.result('plan');
  const access = await openPool(run, input.name);
  const seen = await seePool(access, await run.clusterOf(access.pool));
  const moves = await readMoves(run, operation.id, 'to');
  const current = new Set(plan.current);
  const nodes: NodeInWave[] = [];
  for (const name of plan.waves.find((one) => one.name === wave)?.nodes ?? []) {
    const node = seen.nodes.get(name);
    const move = moves.get(name);
    const at = node === undefined ? 'gone' : isAt(node, plan.to) ? 'target' : 'before';
    nodes.push({ name, at, ...(move && { move }), why: reasonOf(plan, seen, name) });
  }
  const now = clock.now();
  const probed = await probeMoved(run, seen, nodes, now);
  const ours = [...seen.broken].filter(([name]) => {
    const node = seen.nodes.get(name);
    const isLive = moves.get(name)?.state === 'live';
    return node !== undefined && isAt(node, plan.to) && !current.has(name) && !isLive;
  });
  // Failed nodes that `maxFailed` allows do not take the place of others.
  const unhealthy = new Map([...ours, ...probed.failed]);
  const isCounted = (name: string) => !unhealthy.has(name) && !hasFailed(moves.get(name));
  const unavailable = new Set([...seen.unavailable].filter(isCounted));
  const windows = input.now ? [] : input.windows.map(parseWindow);
  const record = await run.fleet.lastRollout(input.name);
  const decision = decideWave(
    {
      ...{ name: wave, nodes, now, unavailable, unhealthy, probing: probed.open },
      paused: record?.operation === operation.id && record.paused === true,
      opensAt: nextOpening(windows, now),
    },
    {
      ...{ maxUnavailable: plan.maxUnavailable, budgets: plan.budgets },
      bakeMs: input.now ? 0 : parseDuration(input.bake),
      maxFailed: input.now ? Number.POSITIVE_INFINITY : plan.maxFailed,
    },
  );
  return act(run, 'to', decision, nodes, (name) => versionOf(seen.nodes.get(name), plan.from));
}

function reasonOf(plan: RolloutPlan, seen: SeenPool, name: string): MoveReason | undefined {
  const node = seen.nodes.get(name);
  if (seen.broken.has(name)) return 'broken';
  return node !== undefined && plan.withdrawn.includes(`${node.image}:${node.version}`)
    ? 'withdrawn'
    : undefined;
}

/** `failed`: probes that have had the time to hold. `open`: those that can still hold, or cannot be run. */
async function probeMoved(run: RolloutRun, seen: SeenPool, nodes: readonly NodeInWave[], now: number) {
  const { probes, probeTimeout, now: isOutage } = run.input;
  const failed = new Map<string, string>();
  const open = new Map<string, string>();
  if (probes.length === 0 || isOutage) return { failed, open };
  const ends = new Map(
    nodes.flatMap(({ name, at, move }) =>
      at === 'target' && move?.state === 'succeeded' ? [[name, move.endedAt ?? now] as const] : [],
    ),
  );
  const moved = [...ends.keys()].flatMap((name) => seen.nodes.get(name) ?? []);
  const results = await probeNodes(
    run,
    probes,
    moved.map((node) => ({ node, object: seen.objects.get(node.name) })),
  );
  for (const [name, { reason, hasFailed }] of results) {
    const isLate = now - (ends.get(name) ?? now) >= parseDuration(probeTimeout);
    (hasFailed && isLate ? failed : open).set(name, reason);
  }
  return { failed, open };
}

/** Moves every node that got the failed version back, including those that were created from it since. */
export async function lookAtReturn(run: RolloutRun): Promise<Looked<WaveResult>> {
  const { input, operation, clock } = run;
  const plan = run.result('plan');
  const seen = await seePool(await openPool(run, input.name));
  const moves = await readMoves(run, operation.id, 'back');
  const current = new Set(plan.current);
  const nodes: NodeInWave[] = [];
  for (const node of seen.nodes.values()) {
    if (current.has(node.name)) continue;
    const move = moves.get(node.name);
    const at = isAt(node, plan.to) ? 'before' : 'target';
    nodes.push({ name: node.name, at, why: 'return', ...(move && { move }) });
  }
  const decision = decideWave(
    {
      ...{ name: 'rollback', nodes, unavailable: seen.unavailable, unhealthy: new Map() },
      ...{ now: clock.now(), paused: false, opensAt: 0 },
    },
    {
      ...{ maxUnavailable: plan.maxUnavailable, budgets: plan.budgets },
      ...{ maxFailed: Number.POSITIVE_INFINITY, bakeMs: 0 },
      retriesFailed: true,
    },
  );
  return act(run, 'back', decision, nodes, () => `${plan.to.image}:${plan.to.version}`);
}

/** Repeating it after a crash starts nothing twice: the id of an operation follows from node and attempt. */
async function act(
  run: RolloutRun,
  phase: 'to' | 'back',
  decision: WaveDecision,
  nodes: readonly NodeInWave[],
  leaves: (node: string) => string,
): Promise<Looked<WaveResult>> {
  const { id: parent, by } = run.operation;
  switch (decision.action) {
    case 'move': {
      for (const { name: node, attempt } of decision.nodes) {
        const moved = { name: run.input.name, node, version: leaves(node), ...drainOf(run.input) };
        const request = operationRequest(rolloutNode, moved);
        await run.desk().submit({ ...request, id: moveId(parent, phase, node, attempt), by, parent });
      }
      const done = nodes.filter(({ at }) => at !== 'before').length;
      return { againMs: maxCheckMs, sentence: `${done} of ${nodes.length} nodes are moved` };
    }
    case 'wait': {
      const isBusy = nodes.some(({ move }) => move?.state === 'live');
      const againMs = Math.min(decision.untilMs, isBusy ? maxCheckMs : observeMs);
      return { againMs, sentence: decision.sentence };
    }
    case 'breach':
      return { done: { failed: [], breach: decision.reason } };
    default:
      return { done: { failed: decision.failed } };
  }
}

function hasFailed(move: NodeInWave['move']): boolean {
  return move?.state === 'failed' && move.blocked !== true;
}

function versionOf(
  node: { readonly image: string; readonly version: string } | undefined,
  { image, version }: { readonly image: string; readonly version: string },
): string {
  return node === undefined ? `${image}:${version}` : `${node.image}:${node.version}`;
}
