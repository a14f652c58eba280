// Replaces one node of a pool by one of the pool's model: in place if the provider can, else by a new one that is ready
// before the old one is deleted. Can be started again after a crash at any point.
import { ImagoError } from '../../domain/error/imago-error.ts';
import { nodeState } from '../../domain/node/state.ts';
import type { ProviderNode } from '../../ports/provider/pools.ts';
import { settle } from '../../workflow/poll-until.ts';
import {
  failureReason,
  isBroken,
  type OpenPool,
  poolNodes,
  requireSeen,
  waiting,
} from '../node/pool-nodes.ts';

export interface Replacing {
  readonly access: OpenPool;
  /** The versions whose nodes are replaced, as NAME:VERSION. */
  readonly versions: readonly string[];
  /** The capacity of the pool before the first node was replaced. */
  readonly capacity: number;
  /** Nodes that did not run before. */
  readonly stopped: ReadonlySet<string>;
  /** Takes a node out of service before it goes. */
  leave(node: string): Promise<void>;
  /** Waits until a node that was replaced in place serves again. */
  enter(node: string): Promise<void>;
}

const nodeDeadlineMs = 60 * 60_000;

export async function replaceNode(work: Replacing, name: string): Promise<void> {
  const { pool, pools, provider, options } = work.access;
  const { abilities } = provider;
  const node = await pools.getNode(pool.name, name, options);
  if (node === undefined) return;
  if (node.state === 'deleting') return waitForRemoval(work, name);
  if (pool.orchestration === 'uniform' && abilities.upgrade) return upgradeInPlace(work, node);
  if (mustGo(work, node)) return replaceByAnother(work, name);
}

/** Safe to repeat: a node that has the model is not changed. */
async function upgradeInPlace(work: Replacing, { name, latestModelApplied }: ProviderNode): Promise<void> {
  const { pool, pools, options } = work.access;
  if (!latestModelApplied && !work.stopped.has(name)) await work.leave(name);
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
  if (!work.stopped.has(name)) return work.enter(name);
  await pools.stopNode(pool.name, name, options);
  await waitFor(work, `Stopping node ${name}`, async () => {
    const node = await pools.getNode(pool.name, name, options);
    return node === undefined || node.power === 'stopped' ? true : undefined;
  });
}

/**
 * Adds a node, then deletes the old one. A capacity of one more than at the start means that the new one was already
 * requested; any other was set by another user, and applies from here on.
 */
async function replaceByAnother(work: Replacing, name: string): Promise<void> {
  const { pool, pools, options } = work.access;
  const now = await requireSeen(work.access, pool.name);
  const asked = now.capacity === work.capacity + 1;
  const wanted = asked ? now.capacity : now.capacity + 1;
  if (!asked) await pools.setCapacity(pool.name, wanted, { ifMatch: now.etag }, options);
  await waitFor(work, `Another node for ${name}`, async () => {
    const good = await countGood(work);
    const { capacity, state } = await requireSeen(work.access, pool.name);
    return state === 'ready' && good.all >= capacity && good.unready === 0 ? true : undefined;
  });
  const newest = await newestNode(work);
  if (newest !== undefined) await work.enter(newest);
  if (!work.stopped.has(name)) await work.leave(name);
  await pools.deleteNode(pool.name, name, options);
  await waitForRemoval(work, name);
}

async function waitForRemoval(work: Replacing, name: string): Promise<void> {
  const { pool, pools, options } = work.access;
  await waitFor(work, `The removal of node ${name}`, async () =>
    (await pools.getNode(pool.name, name, options)) === undefined ? true : undefined,
  );
}

/** The node that was added. */
async function newestNode(work: Replacing): Promise<string | undefined> {
  let newest: ProviderNode | undefined;
  for await (const node of poolNodes(work.access, work.access.pool.name)) {
    if (mustGo(work, node) || node.power !== 'running') continue;
    if (newest === undefined || node.createdAt > newest.createdAt) newest = node;
  }
  return newest?.name;
}

/** Nodes to replace can be in any state; the others must be healthy. */
async function countGood(work: Replacing): Promise<{ readonly all: number; readonly unready: number }> {
  let all = 0;
  let unready = 0;
  for await (const node of poolNodes(work.access, work.access.pool.name)) {
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

function waitFor({ access }: Replacing, what: string, read: () => Promise<true | undefined>): Promise<true> {
  return settle(read, waiting(access, what, nodeDeadlineMs));
}

function nodeFailed(node: ProviderNode): ImagoError {
  return new ImagoError(
    'provider-failed',
    `Node ${node.name} could not be replaced: ${failureReason(node)}.`,
    { retryable: false },
  );
}
