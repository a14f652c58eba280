// One node of a pool, replaced by one of the pool's model: in place where the provider can, else by a new one that
// is ready before the old one goes. Every way can be begun again after a crash at any point.
import { ImagoError } from '../../domain/error/imago-error.ts';
import { nodeState } from '../../domain/node/state.ts';
import type { PoolRecord } from '../../ports/database/fleet.ts';
import type { ProviderNode } from '../../ports/provider/pools.ts';
import type { StepContext } from '../../ports/workflow/operation.ts';
import { settle } from '../../workflow/poll-until.ts';
import { failureReason, isBroken, type PoolAccess, poolNodes } from '../node/pool-nodes.ts';

export interface Replacing {
  readonly access: PoolAccess;
  readonly pool: PoolRecord;
  /** What must go, as NAME:VERSION. */
  readonly versions: readonly string[];
  /** Of the pool, before the first node was replaced. */
  readonly capacity: number;
  /** Nodes that did not run before. */
  readonly stopped: ReadonlySet<string>;
  readonly context: StepContext<unknown>;
}

const nodeDeadlineMs = 60 * 60_000;

export async function replaceNode(work: Replacing, name: string): Promise<void> {
  const { access, pool } = work;
  const { abilities } = access.provider;
  if (pool.orchestration === 'uniform' && abilities.upgrade) return upgradeInPlace(work, name);
  return replaceByAnother(work, name);
}

/** Safe to repeat: a node that has the model is left alone. */
async function upgradeInPlace(work: Replacing, name: string): Promise<void> {
  const { access, pool } = work;
  const { pools, options } = access;
  await pools.upgradeNode(pool.name, name, options);
  await waitFor(work, `Node ${name}`, async () => {
    const node = await pools.getNode(pool.name, name, options);
    if (node === undefined) return true;
    if (node.state === 'failed') throw nodeFailed(node);
    if (!node.latestModelApplied || mustGo(work, node)) return undefined;
    const state = nodeState(node);
    if (isBroken(state)) throw nodeFailed(node);
    return state === 'ready' ? true : undefined;
  });
  if (!work.stopped.has(name)) return;
  await pools.stopNode(pool.name, name, options);
  await waitFor(work, `Stopping node ${name}`, async () => {
    const node = await pools.getNode(pool.name, name, options);
    return node === undefined || node.power === 'stopped' ? true : undefined;
  });
}

/**
 * One more node first, then the old one away. A capacity of one more than at the beginning means that the new one
 * was asked for already; any other that we did not set is someone else's, and counts from here on.
 */
async function replaceByAnother(work: Replacing, name: string): Promise<void> {
  const { access, pool } = work;
  const { pools, options } = access;
  const now = await requirePoolState(work);
  const asked = now.capacity === work.capacity + 1;
  const wanted = asked ? now.capacity : now.capacity + 1;
  if (!asked) await pools.setCapacity(pool.name, wanted, { ifMatch: now.etag }, options);
  await waitFor(work, `Another node for ${name}`, async () => {
    const good = await countGood(work);
    const { capacity, state } = await requirePoolState(work);
    return state === 'ready' && good.all >= capacity && good.unready === 0 ? true : undefined;
  });
  await pools.deleteNode(pool.name, name, options);
  await waitFor(work, `The removal of node ${name}`, async () =>
    (await pools.getNode(pool.name, name, options)) === undefined ? true : undefined,
  );
}

async function requirePoolState({ access, pool }: Replacing) {
  const now = await access.pools.getPool(pool.name, access.options);
  if (now !== undefined) return now;
  throw new ImagoError('provider-not-found', `The provider has no pool ${pool.name} any more.`);
}

/** Nodes that are to go may be in any state; the others must be well. */
async function countGood(work: Replacing): Promise<{ readonly all: number; readonly unready: number }> {
  let all = 0;
  let unready = 0;
  for await (const node of poolNodes(work.access, work.pool.name)) {
    all += 1;
    if (mustGo(work, node)) continue;
    const state = nodeState(node);
    if (isBroken(state)) throw nodeFailed(node);
    if (state !== 'ready' && state !== 'stopped') unready += 1;
  }
  return { all, unready };
}

function mustGo({ versions }: Replacing, { image, version }: ProviderNode): boolean {
  return versions.includes(`${image}:${version}`);
}

function waitFor(
  { access, context }: Replacing,
  what: string,
  read: () => Promise<true | undefined>,
): Promise<true> {
  return settle(read, {
    clock: access.provider.clock,
    signal: context.signal,
    deadlineMs: nodeDeadlineMs,
    what,
  });
}

function nodeFailed(node: ProviderNode): ImagoError {
  return new ImagoError(
    'provider-failed',
    `Node ${node.name} could not be replaced: ${failureReason(node)}.`,
    { retryable: false },
  );
}
