// Follows a withdrawal to zero: pools that would still make such nodes are moved on, and with `replace` the nodes
// that run are replaced, by one operation a pool.
import type { Json } from '../../domain/value/json.ts';
import type { PoolUse, VersionName } from '../../ports/database/lineage.ts';
import type { OperationRequest, StepContext } from '../../ports/workflow/operation.ts';
import { allPages } from '../common/all-pages.ts';
import type { OperationDeps } from '../common/deps.ts';
import { changeCommand, stillStarts } from './affected.ts';

export interface ReplacedPools {
  /** Pools whose operation succeeded. */
  readonly pools: readonly string[];
  /** One sentence each. */
  readonly failed: readonly string[];
}

type Context = StepContext<{ readonly replace: boolean; readonly reason: string }>;
type Needed = Pick<OperationRequest, 'kind' | 'input'>;

/** Those that were started, and why others were not. */
export interface StartedPools {
  readonly started: readonly { readonly pool: string; readonly operation: string }[];
  /** One sentence each. */
  readonly failed: readonly string[];
}

/** Starts the operations. They are named after this one: a crash starts none twice. */
export async function startReplacements(
  deps: OperationDeps,
  versions: readonly VersionName[],
  context: Context,
): Promise<StartedPools> {
  if (versions.length === 0) return { started: [], failed: [] };
  const { id: parent, by } = context.operation;
  const started: { pool: string; operation: string }[] = [];
  const failed: string[] = [];
  for (const use of await deps.lifecycle.lineage.poolsOf(versions)) {
    const needed = await operationFor(deps, use, versions, context);
    if (typeof needed === 'string') failed.push(needed);
    if (needed === undefined || typeof needed === 'string') continue;
    const id = operationId(parent, use.pool);
    await deps.desk().submit({ ...needed, id, subject: `pool/${use.pool}`, by, parent });
    started.push({ pool: use.pool, operation: id });
  }
  return { started, failed };
}

/** Waits for their end. */
export async function awaitReplacements(
  deps: OperationDeps,
  { started, failed: before }: StartedPools,
  context: Pick<Context, 'signal' | 'progress'>,
): Promise<ReplacedPools> {
  const pools: string[] = [];
  const failed = [...before];
  for (const [done, { pool, operation }] of started.entries()) {
    context.progress(done, started.length, `${done} of ${started.length} pools are clear`);
    const ended = await deps.desk().ended(operation, context.signal);
    if (ended.state === 'succeeded') pools.push(pool);
    else failed.push(`pool ${pool}: ${ended.error?.message ?? ended.state} (operation ${operation})`);
  }
  return { pools, failed };
}

function operationId(parent: string, pool: string): string {
  return `${parent}.${pool}`;
}

/** Asks those that still run to stop, and waits until they have. A second call finds none. */
export async function cancelReplacements(
  deps: OperationDeps,
  { operation, signal }: Pick<Context, 'operation' | 'signal'>,
): Promise<void> {
  const desk = deps.desk();
  for await (const { name } of allPages((query) => deps.fleet.listPools(query))) {
    const id = operationId(operation.id, name);
    const record = await deps.journal.get(id);
    if (record === undefined || record.endedAt !== undefined) continue;
    await desk.cancel(id, operation.by);
    await desk.ended(id, signal);
  }
}

/** What the pool needs; `undefined`: nothing. A sentence when a person must decide. */
async function operationFor(
  deps: OperationDeps,
  use: PoolUse,
  versions: readonly VersionName[],
  { input }: Context,
): Promise<Needed | string | undefined> {
  const { pool, model, nodes } = use;
  const record = await deps.fleet.getPool(pool);
  if (record === undefined) return undefined;
  const change = await changeCommand(deps, use, versions);
  if (change !== undefined) return input.replace && nodes > 0 ? stillStarts(pool, change) : undefined;
  if (input.replace && nodes > 0) {
    const names = versions.map(({ image, version }) => `${image}:${version}`);
    const follow = model ? { follow: record.reference } : {};
    const asked = { name: pool, versions: names, ...follow, why: input.reason };
    return { kind: 'replace-nodes', input: asked satisfies Json };
  }
  if (!model) return undefined;
  return { kind: 'pool-set-image', input: { name: pool, reference: record.reference, pin: false } };
}
