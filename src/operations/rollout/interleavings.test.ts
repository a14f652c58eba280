// Random interleavings of a rollout with crashes, lost messages, operators, autoscalers, and faulty machines: the real
// decisions of its waves and of its way back, over a pool, a journal, and a clock in memory.
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { patience } from '../../../test/support/speed.ts';
import { rollout } from '../../domain/rollout/operations.ts';
import { planWaves, waveNames } from '../../domain/rollout/plan.ts';
import type { Looked } from '../common/operation.ts';
import type { RolloutPlan } from './target.ts';
import { lookAtReturn, lookAtWave, type RolloutRun, type WaveResult } from './waves.ts';

const runs = 5_000;
const [oldImage, newImage] = ['1.0.0', '1.0.1'].map((version) => ({
  ...{ reference: `node:${version}`, image: 'node', version, digest: `sha256:${version}` },
}));
if (oldImage === undefined || newImage === undefined) throw new Error('There are two images.');

type Event = 'look' | 'end' | 'block' | 'break' | 'crash' | 'delete' | 'grow' | 'sicken' | 'pause' | 'resume';
const events: readonly Event[] = [
  ...(['look', 'look', 'look', 'end', 'end', 'end', 'block', 'break', 'crash'] as const),
  ...(['delete', 'grow', 'sicken', 'pause', 'resume'] as const),
];

interface Machine {
  version: string;
  healthy: boolean;
}
interface Child {
  readonly id: string;
  readonly node: string;
  readonly createdAt: string;
  state: 'running' | 'succeeded' | 'failed';
  endedAt?: string;
  error?: { readonly code: string; readonly message: string };
}

function createWorld(size: number, max: number, maxFailed: number) {
  const nodes = new Map<string, Machine>();
  const children: Child[] = [];
  const plan = {
    ...planWaves(
      'web',
      Array.from({ length: size }, (_, at) => ({ name: `n-${at}`, current: false })),
      ['10%', '50%'],
    ),
    ...{ before: oldImage, from: oldImage, to: newImage, maxUnavailable: max, extraNodes: 0, maxFailed },
    ...{ budgets: {}, withdrawn: [] },
  } as RolloutPlan;
  for (let at = 0; at < size; at += 1) nodes.set(`n-${at}`, { version: '1.0.0', healthy: true });
  const world = { now: 0, paused: false, diesIn: Number.POSITIVE_INFINITY, model: '1.0.1', grown: 0 };
  const iso = () => new Date(world.now).toISOString();
  const listNodes = async () => ({
    items: [...nodes].map(([name, { version, healthy }]) => ({
      ...{ name, pool: 'web', image: 'node', version, power: 'running', state: 'ready' },
      ...{ health: healthy ? 'healthy' : 'unhealthy', trouble: 'kubelet.service failed' },
    })),
  });
  const pools = { getPool: async () => ({ name: 'web' }), listNodes };
  const live = () => children.filter(({ state }) => state === 'running');
  const run = {
    input: rollout.input.parse({ name: 'web', bake: '0s' }),
    operation: { id: 'op', by: 'ann' },
    clock: { now: () => world.now },
    call: { signal: new AbortController().signal, epoch: 0 },
    result: () => plan,
    clusterOf: async () => undefined,
    provider: () => ({ name: 'sim', pools, abilities: { upgrade: true } }),
    fleet: {
      getPool: async () => ({ name: 'web', provider: 'sim', orchestration: 'uniform' }),
      lastRollout: async () => ({ operation: 'op', paused: world.paused }),
    },
    journal: { childStates: async () => children },
    desk: () => ({
      async submit({ id, input }: { readonly id: string; readonly input: { readonly node: string } }) {
        world.diesIn -= 1;
        if (world.diesIn < 0) throw new Error('The process died.');
        if (children.some((child) => child.id === id)) return;
        expect(live().some(({ node }) => node === input.node)).toBe(false);
        children.push({ id, node: input.node, createdAt: iso(), state: 'running' });
        expect(live().length).toBeLessThanOrEqual(max);
      },
    }),
  } as unknown as RolloutRun;

  function end(child: Child | undefined, how: 'succeeds' | 'blocked' | 'breaks'): void {
    if (child === undefined) return;
    const node = nodes.get(child.node);
    const isBack = child.id.startsWith('op.back.');
    child.state = how === 'succeeds' || node === undefined ? 'succeeded' : 'failed';
    child.endedAt = iso();
    if (how === 'blocked')
      child.error = { code: 'drain-timeout', message: 'budget web/web lets no pod leave' };
    if (how === 'breaks') child.error = { code: 'provider-failed', message: 'kubelet.service failed' };
    if (node === undefined || how === 'blocked') return;
    node.version = world.model;
    node.healthy = how === 'succeeds' || isBack;
  }
  return { nodes, children, world, run, live, end };
}

type World = ReturnType<typeof createWorld>;

/** Returns whether the step found its result. A look that dies is repeated by the next process. */
async function lookOnce({ world }: World, look: () => Promise<Looked<WaveResult>>) {
  try {
    const found = await look();
    return 'done' in found ? found.done : undefined;
  } catch (thrown) {
    if ((thrown as Error).message !== 'The process died.') throw thrown;
    world.diesIn = Number.POSITIVE_INFINITY;
    return undefined;
  }
}

function happen(state: World, event: Event, pick: number): void {
  const { nodes, world, live, end } = state;
  const some = live()[pick % Math.max(1, live().length)];
  const names = [...nodes.keys()];
  const name = names[pick % Math.max(1, names.length)] ?? '';
  world.now += 10_000;
  if (event === 'end') end(some, 'succeeds');
  if (event === 'block') end(some, 'blocked');
  if (event === 'break') end(some, 'breaks');
  if (event === 'crash') world.diesIn = pick % 3;
  if (event === 'delete') nodes.delete(name);
  if (event === 'grow') nodes.set(`grown-${world.grown++}`, { version: world.model, healthy: true });
  if (event === 'sicken' && nodes.has(name))
    nodes.set(name, { ...(nodes.get(name) as Machine), healthy: false });
  if (event === 'pause' || event === 'resume') world.paused = event === 'pause';
}

/** Takes a step to its end: first the random events, then whatever is left, without further trouble. */
async function take(
  state: World,
  script: Iterator<readonly [Event, number]>,
  look: () => Promise<Looked<WaveResult>>,
) {
  for (let turn = 0; turn < 2_000; turn += 1) {
    const next = script.next();
    if (!next.done && next.value[0] !== 'look') {
      happen(state, ...next.value);
      continue;
    }
    const done = await lookOnce(state, look);
    if (done !== undefined) return done;
    if (!next.done) continue;
    happen(state, state.world.paused ? 'resume' : 'end', turn);
    // A rollout waits for sick nodes that it has not moved, until someone repairs them.
    for (const node of state.nodes.values()) if (node.version === '1.0.0') node.healthy = true;
    state.world.now += 30 * 60_000;
  }
  throw new Error('The rollout does not end.');
}

const script = fc.array(fc.tuple(fc.constantFrom(...events), fc.nat(50)), { maxLength: 40 });

test(`${runs} random interleavings end as they should`, { timeout: patience(120_000) }, async () => {
  const seen = { breaches: 0, successes: 0 };
  const sizes = [
    fc.integer({ min: 0, max: 12 }),
    fc.integer({ min: 1, max: 4 }),
    fc.integer({ min: 0, max: 2 }),
  ];
  await fc.assert(
    fc.asyncProperty(fc.tuple(...sizes), script, async ([size = 0, max = 1, maxFailed = 0], happenings) => {
      const state = createWorld(size, max, maxFailed);
      const { nodes, children, world, run, live } = state;
      const left = happenings[Symbol.iterator]();
      let breach: string | undefined;
      const failed: string[] = [];
      for (const wave of waveNames(['10%', '50%'])) {
        const done = await take(state, left, () => lookAtWave(run, wave));
        failed.push(...done.failed);
        breach = done.breach;
        if (breach !== undefined) break;
      }
      const isFaulty = children.some(({ error }) => error?.code === 'provider-failed');
      const isSick = happenings.some(([event]) => event === 'sicken');
      if (breach === undefined) {
        seen.successes += 1;
        // Every node that was there moved, is gone, or is reported.
        const behind = [...nodes].filter(([, { version }]) => version === '1.0.0').map(([name]) => name);
        expect(behind.every((name) => failed.includes(name))).toBe(true);
        expect(live()).toEqual([]);
        return;
      }
      seen.breaches += 1;
      // A version is only blamed for what was seen on its nodes.
      expect(isFaulty || isSick).toBe(true);
      for (const child of live()) state.end(child, 'succeeds');
      world.model = '1.0.0';
      world.paused = false;
      await take(state, left, () => lookAtReturn(run));
      expect([...nodes.values()].filter(({ version }) => version === '1.0.1')).toEqual([]);
    }),
    { numRuns: runs },
  );
  expect(Math.min(seen.breaches, seen.successes)).toBeGreaterThan(runs / 20);
});
