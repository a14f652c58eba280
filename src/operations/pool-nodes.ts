// What the pool operations share: waiting until a pool is as asked, and recording what its nodes were made from.
import { ImagoError } from '../domain/errors.ts';
import type { PoolRecord } from '../ports/fleet.ts';
import type { StepContext } from '../ports/operation.ts';
import type { CallOptions, Provider } from '../ports/provider.ts';
import type { Pools, ProviderNode, ProviderPool } from '../ports/provider-pools.ts';
import { allPages } from './all-pages.ts';
import { callOptions, type OperationDeps, requireRole } from './deps.ts';
import { settle } from './settle.ts';

const scaleDeadlineMs = 60 * 60_000;

export interface PoolAccess {
  readonly provider: Provider;
  readonly pools: Pools;
  readonly options: CallOptions;
}

export function poolAccess(
  deps: OperationDeps,
  providerName: string | undefined,
  signal: AbortSignal,
): PoolAccess {
  const provider = deps.provider(providerName);
  return { provider, pools: requireRole(provider, 'pools'), options: callOptions(deps, signal) };
}

export async function requirePool(deps: OperationDeps, name: string): Promise<PoolRecord> {
  const pool = await deps.fleet.getPool(name);
  if (pool === undefined) {
    throw new ImagoError('pool-not-found', `There is no pool ${name}.`, { hint: 'See `imago pool list`.' });
  }
  return pool;
}

/** The pool when it has the capacity asked for and every node is ready; `undefined` when not yet. */
export async function readyPool(
  access: PoolAccess,
  name: string,
  capacity: number,
): Promise<ProviderPool | undefined> {
  const pool = await access.pools.getPool(name, access.options);
  if (pool?.state === 'failed') throw poolFailed(name, pool.error?.message);
  if (pool?.state !== 'ready' || pool.capacity !== capacity) return undefined;
  const nodes = await countNodes(access, name);
  return nodes.ready === capacity && nodes.all === capacity ? pool : undefined;
}

export async function waitForPool(
  access: PoolAccess,
  name: string,
  capacity: number,
  context: StepContext<unknown>,
): Promise<void> {
  await settle(
    async () => {
      const nodes = await countNodes(access, name);
      context.progress(
        nodes.ready,
        Math.max(capacity, nodes.all),
        `${nodes.ready} of ${capacity} nodes of ${name} are ready`,
      );
      return (await readyPool(access, name, capacity)) && true;
    },
    {
      clock: access.provider.clock,
      signal: context.signal,
      deadlineMs: scaleDeadlineMs,
      what: `Pool ${name}`,
    },
  );
}

export async function waitForPoolGone(access: PoolAccess, name: string, signal: AbortSignal): Promise<void> {
  await settle(
    async () => ((await access.pools.getPool(name, access.options)) === undefined ? true : undefined),
    {
      clock: access.provider.clock,
      signal,
      deadlineMs: scaleDeadlineMs,
      what: `The removal of pool ${name}`,
    },
  );
}

async function countNodes(
  access: PoolAccess,
  pool: string,
): Promise<{ readonly ready: number; readonly all: number }> {
  let ready = 0;
  let all = 0;
  for await (const node of poolNodes(access, pool)) {
    if (node.state === 'failed')
      throw poolFailed(pool, `node ${node.name}: ${node.error?.message ?? 'no reason given'}`);
    all += 1;
    if (node.state === 'ready' && node.power === 'running') ready += 1;
  }
  return { ready, all };
}

export async function* poolNodes(access: PoolAccess, pool: string): AsyncGenerator<ProviderNode> {
  if ((await access.pools.getPool(pool, access.options)) === undefined) return;
  yield* allPages((query) => access.pools.listNodes(pool, query, access.options));
}

function poolFailed(pool: string, reason: string | undefined): ImagoError {
  return new ImagoError('provider-failed', `Pool ${pool} failed: ${reason ?? 'no reason given'}.`, {
    retryable: false,
  });
}

/**
 * Writes rule 6's record for each node that is new or was made anew, and marks the others gone. A node made
 * from another version than the model's gets that exact version as its reference.
 */
export async function recordPoolNodes(
  deps: OperationDeps,
  access: PoolAccess,
  pool: PoolRecord,
): Promise<number> {
  const alive = new Set<string>();
  const records = [];
  for await (const node of poolNodes(access, pool.name)) {
    alive.add(node.machineId);
    records.push(await nodeRecord(deps, pool, node));
  }
  await deps.fleet.recordNodes(records);
  await deps.fleet.markGone(pool.name, alive, new Date(access.provider.clock.now()).toISOString());
  return records.length;
}

async function nodeRecord(deps: OperationDeps, pool: PoolRecord, node: ProviderNode) {
  const made = {
    name: node.name,
    pool: pool.name,
    machineId: node.machineId,
    image: node.image,
    version: node.version,
    at: node.imagedAt,
  };
  if (node.image === pool.image && node.version === pool.version) {
    return {
      ...made,
      digest: pool.digest,
      reference: pool.reference,
      ...(pool.follows === undefined ? {} : { channel: pool.follows }),
      ...(pool.move === undefined ? {} : { move: pool.move }),
    };
  }
  const version = await deps.catalogue.getVersion(node.image, node.version);
  return { ...made, digest: version?.digest ?? '', reference: `${node.image}:${node.version}` };
}
