// What the pool operations share: waiting until a pool is as asked, and recording what its nodes were made from.
import { ImagoError } from '../../domain/error/imago-error.ts';
import { isUsable } from '../../domain/image/version-state.ts';
import { type NodeAnswer, nodeAnswer } from '../../domain/node/node.ts';
import { nodeState } from '../../domain/node/state.ts';
import { requireNamed } from '../../domain/value/require-named.ts';
import type { NodeRecord, PoolRecord } from '../../ports/database/fleet.ts';
import type { CallOptions } from '../../ports/provider/call.ts';
import type { Pools, ProviderNode, ProviderPool } from '../../ports/provider/pools.ts';
import type { Provider } from '../../ports/provider/provider.ts';
import type { StepContext } from '../../ports/workflow/operation.ts';
import { settle, settleGone } from '../../workflow/poll-until.ts';
import { allPages } from '../common/all-pages.ts';
import { type Calls, type OperationDeps, requireRole } from '../common/deps.ts';
import { joinedPools, type MadeNode, showInCluster, viewCluster } from './join.ts';

const scaleDeadlineMs = 60 * 60_000;

export interface PoolAccess {
  readonly provider: Provider;
  readonly pools: Pools;
  readonly options: CallOptions;
}

/** What is needed to read a pool. */
export type PoolReading = Pick<Calls, 'fleet' | 'provider' | 'call' | 'clusterOf'>;

export interface OpenPool extends PoolAccess {
  readonly pool: PoolRecord;
}

export function poolAccess(
  run: Pick<Calls, 'provider' | 'call'>,
  providerName: string | undefined,
): PoolAccess {
  const provider = run.provider(providerName);
  return { provider, pools: requireRole(provider, 'pools'), options: run.call };
}

/** The pool with its provider. Throws `pool-not-found`. */
export async function openPool(run: PoolReading, name: string): Promise<OpenPool> {
  const pool = await requirePool(run, name);
  return { pool, ...(await joinedAccess(run, poolAccess(run, pool.provider), pool.cluster)) };
}

/** With nodes that are ready only when their cluster reports it, if they join it automatically. */
export async function joinedAccess(
  { clusterOf }: Pick<OperationDeps, 'clusterOf'>,
  access: PoolAccess,
  name: string | undefined,
): Promise<PoolAccess> {
  if (access.provider.identities === undefined) return access;
  // A kubeconfig that is gone must not keep the pool from being changed.
  const cluster = await clusterOf({ cluster: name }).catch(() => undefined);
  return cluster === undefined ? access : { ...access, pools: joinedPools(access, cluster) };
}

export async function requirePool(
  { fleet }: Pick<OperationDeps, 'fleet'>,
  name: string,
): Promise<PoolRecord> {
  return requireNamed('pool', name, await fleet.getPool(name), async () => {
    return (await fleet.listPools({ limit: 1000 })).items.map((pool) => pool.name);
  });
}

/** The pool as its provider has it. Throws `provider-not-found`. */
export async function requireSeen({ pools, options }: PoolAccess, name: string): Promise<ProviderPool> {
  const seen = await pools.getPool(name, options);
  if (seen !== undefined) return seen;
  throw new ImagoError('provider-not-found', `The provider no longer has pool ${name}.`);
}

/** Throws `version-withdrawn` if new nodes of the pool would be created from a withdrawn version. */
export async function requireUsableModel(
  { catalogue }: Pick<OperationDeps, 'catalogue'>,
  { name, image, version }: Pick<PoolRecord, 'name' | 'image' | 'version'>,
): Promise<void> {
  const now = await catalogue.getVersion(image, version);
  if (now === undefined || isUsable(now.state)) return;
  throw new ImagoError(
    'version-withdrawn',
    `New nodes of pool ${name} would be of ${image}:${version}, which is ${now.state}.`,
    { hint: `Choose another image with \`imago pool set-image ${name}\` first.` },
  );
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
  { progress }: Pick<StepContext<unknown>, 'progress'>,
): Promise<void> {
  await settle(
    async () => {
      const { ready, all } = await countNodes(access, name);
      progress(ready, Math.max(capacity, all), `${ready} of ${capacity} nodes of ${name} are ready`);
      return (await readyPool(access, name, capacity)) && true;
    },
    waiting(access, `Pool ${name}`),
  );
}

export async function waitForPoolGone(access: PoolAccess, name: string): Promise<void> {
  await settleGone(
    () => access.pools.getPool(name, access.options),
    waiting(access, `The removal of pool ${name}`),
  );
}

/** How long to wait for the pool's provider, by the provider's clock. */
export function waiting({ provider, options }: PoolAccess, what: string, deadlineMs = scaleDeadlineMs) {
  return { clock: provider.clock, signal: options.signal, deadlineMs, what };
}

async function countNodes(
  access: PoolAccess,
  pool: string,
): Promise<{ readonly ready: number; readonly all: number }> {
  let ready = 0;
  let all = 0;
  for await (const node of poolNodes(access, pool)) {
    const state = nodeState(node);
    if (isBroken(state)) throw poolFailed(pool, `node ${node.name}: ${failureReason(node)}`);
    all += 1;
    if (state === 'ready') ready += 1;
  }
  return { ready, all };
}

/** Whether waiting does not help: the provider or the agent of the node reports a failure. */
export function isBroken(state: ReturnType<typeof nodeState>): boolean {
  return state === 'failed' || state === 'unhealthy';
}

export function failureReason({ error, trouble }: ProviderNode): string {
  return error?.message ?? trouble ?? 'no reason given';
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

export interface RecordedNodes {
  readonly count: number;
  /** Nodes created from something that is not in the catalog: they need attention. */
  readonly strangers: readonly string[];
  /** Why the cluster of the pool does not show what its nodes were created from. */
  readonly unmarked?: string;
}

/**
 * Writes rule 6's record for each node that is new or was recreated, and marks missing ones as gone. With the name of a
 * node that still exists, it looks at no other: a pool of many nodes is changed one by one.
 */
export async function recordPoolNodes(
  deps: OperationDeps,
  access: PoolAccess,
  pool: PoolRecord,
  only?: string,
): Promise<RecordedNodes> {
  const view = await viewCluster(deps, access, pool);
  const one = only === undefined ? undefined : await access.pools.getNode(pool.name, only, access.options);
  const alive = new Map<string, string>();
  const records: MadeNode[] = [];
  const ready = new Set<string>();
  const strangers: string[] = [];
  const versionOf = versionReader(deps, pool);
  for await (const node of one === undefined ? poolNodes(access, pool.name) : [one]) {
    alive.set(node.machineId, node.name);
    if (nodeState(node) === 'ready') ready.add(node.name);
    const made = await versionOf(node.image, node.version);
    if (made === undefined) strangers.push(node.name);
    else records.push({ ...made, ...identity(node) });
  }
  await deps.fleet.recordNodes(records);
  if (one === undefined)
    await deps.fleet.markGone(
      pool.name,
      new Set(alive.keys()),
      new Date(access.provider.clock.now()).toISOString(),
    );
  const names = new Set(alive.values());
  const unmarked = view && (await showInCluster(deps, view, { records, alive: names, ready, only }));
  return { count: records.length, strangers, ...(unmarked !== undefined && { unmarked }) };
}

function identity({ name, pool, machineId, imagedAt }: ProviderNode) {
  return { name, pool, machineId, at: imagedAt };
}

type MadeFrom = Pick<NodeRecord, 'image' | 'version' | 'digest'> & NodeAnswer;

/** What nodes of a version were made from, read once for each version. */
function versionReader(deps: OperationDeps, pool: PoolRecord) {
  const known = new Map<string, Promise<MadeFrom | undefined>>();
  async function read(image: string, version: string): Promise<MadeFrom | undefined> {
    const made = { image, version };
    if (image === pool.image && version === pool.version) {
      return { ...made, digest: pool.digest, ...nodeAnswer(made, pool, []) };
    }
    const record = await deps.catalogue.getVersion(image, version);
    if (record === undefined) return undefined;
    const moves = await deps.catalogue.listMoves(image, undefined, { limit: 1000 });
    return { ...made, digest: record.digest, ...nodeAnswer(made, pool, moves.items) };
  }
  return (image: string, version: string) => {
    const key = `${image}:${version}`;
    const found = known.get(key) ?? read(image, version);
    known.set(key, found);
    return found;
  };
}
