// What the pool operations share: waiting until a pool is as asked, and recording what its nodes were made from.
import { ImagoError } from '../../domain/error/imago-error.ts';
import { isUsable } from '../../domain/image/version-state.ts';
import { type NodeAnswer, nodeAnswer } from '../../domain/node/node.ts';
import { nodeState } from '../../domain/node/state.ts';
import type { NodeRecord, PoolRecord } from '../../ports/database/fleet.ts';
import type { CallOptions } from '../../ports/provider/call.ts';
import type { Pools, ProviderNode, ProviderPool } from '../../ports/provider/pools.ts';
import type { Provider } from '../../ports/provider/provider.ts';
import type { StepContext } from '../../ports/workflow/operation.ts';
import { settle } from '../../workflow/poll-until.ts';
import { allPages } from '../common/all-pages.ts';
import { callOptions, type OperationDeps, requireRole } from '../common/deps.ts';

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

/** Throws `version-withdrawn` when new nodes of the pool would be of a version that is out. */
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
  /** Nodes made from something that the catalogue does not know: a person should see them. */
  readonly strangers: readonly string[];
}

/** Writes rule 6's record for each node that is new or was made anew, and marks those that are not there as gone. */
export async function recordPoolNodes(
  deps: OperationDeps,
  access: PoolAccess,
  pool: PoolRecord,
): Promise<RecordedNodes> {
  const alive = new Set<string>();
  const records = [];
  const strangers: string[] = [];
  const versionOf = versionReader(deps, pool);
  for await (const node of poolNodes(access, pool.name)) {
    alive.add(node.machineId);
    const made = await versionOf(node.image, node.version);
    if (made === undefined) strangers.push(node.name);
    else records.push({ ...made, ...identity(node) });
  }
  await deps.fleet.recordNodes(records);
  await deps.fleet.markGone(pool.name, alive, new Date(access.provider.clock.now()).toISOString());
  return { count: records.length, strangers };
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
