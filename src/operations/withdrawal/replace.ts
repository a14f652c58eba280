// Finds the pools that a withdrawal concerns: those that would start nodes from a withdrawn version move on with their
// channel, and with `replace` the nodes that run it are replaced, by one operation for each pool.
import { operationRequest } from '../../domain/operation/declaration.ts';
import { poolSetImage, replaceNodes } from '../../domain/pool/operations.ts';
import type { PoolUse, VersionName } from '../../ports/database/lineage.ts';
import type { OperationRequest } from '../../ports/workflow/operation.ts';
import type { Looked, Run } from '../common/operation.ts';
import { stopChildren } from '../common/stop-children.ts';
import { changeCommand, stillStarts } from './affected.ts';

export interface ReplacedPools {
  /** Pools whose operation succeeded. */
  readonly pools: readonly string[];
  /** One sentence each. */
  readonly failed: readonly string[];
}

/** Those that were started, and why others were not. */
export interface StartedPools {
  readonly started: readonly { readonly pool: string; readonly operation: string }[];
  /** One sentence each. */
  readonly failed: readonly string[];
}

/** How long a lost message of a finished operation can delay the step that waits for it. */
const maxCheckMs = 15_000;

type Replacing = Run<{ readonly replace: boolean; readonly reason: string }>;

/** The id of the operation that a withdrawal starts for a pool: a crash starts none twice. */
export function replacementId(withdrawal: string, pool: string): string {
  return `${withdrawal}.${pool}`;
}

export async function startReplacements(
  run: Replacing,
  versions: readonly VersionName[],
): Promise<StartedPools> {
  if (versions.length === 0) return { started: [], failed: [] };
  const { id: parent, by } = run.operation;
  const started: { pool: string; operation: string }[] = [];
  const failed: string[] = [];
  for (const use of await run.lifecycle.lineage.poolsOf(versions)) {
    const needed = await replacementFor(run, use, versions);
    if (typeof needed === 'string') failed.push(needed);
    if (needed === undefined || typeof needed === 'string') continue;
    const id = replacementId(parent, use.pool);
    await run.desk().submit({ ...needed, id, by, parent });
    started.push({ pool: use.pool, operation: id });
  }
  return { started, failed };
}

/** Checks whether they have ended. Each one that ends wakes the step that waits for them. */
export async function lookAtReplacements(
  { journal }: Pick<Run, 'journal'>,
  { started, failed: before }: StartedPools,
): Promise<Looked<ReplacedPools>> {
  const pools: string[] = [];
  const failed = [...before];
  for (const { pool, operation } of started) {
    const record = await journal.get(operation);
    if (record !== undefined && record.endedAt === undefined) continue;
    if (record?.state === 'succeeded') pools.push(pool);
    else
      failed.push(
        `pool ${pool}: ${record?.error?.message ?? record?.state ?? 'no record'} (operation ${operation})`,
      );
  }
  const done = pools.length + failed.length - before.length;
  if (done === started.length) return { done: { pools, failed } };
  return { againMs: maxCheckMs, sentence: `${done} of ${started.length} pools are done` };
}

/** Cancels those that still run, and waits until they have ended. Replaced nodes stay, and so does the withdrawal. */
export async function cancelReplacements(run: Parameters<typeof stopChildren>[0]): Promise<'kept'> {
  await stopChildren(run);
  return 'kept';
}

/** The operation that the pool needs; a sentence if a person must decide. */
async function replacementFor(
  run: Replacing,
  use: PoolUse,
  versions: readonly VersionName[],
): Promise<Pick<OperationRequest, 'kind' | 'subject' | 'input'> | string | undefined> {
  const { pool: name, model, nodes } = use;
  const { replace, reason: why } = run.input;
  const record = await run.fleet.getPool(name);
  if (record === undefined) return undefined;
  const change = await changeCommand(run, use, versions);
  if (change !== undefined) return replace && nodes > 0 ? stillStarts(name, change) : undefined;
  const { reference } = record;
  if (replace && nodes > 0) {
    const names = versions.map(({ image, version }) => `${image}:${version}`);
    return operationRequest(replaceNodes, {
      name,
      versions: names,
      why,
      ...(model && { follow: reference }),
    });
  }
  return model ? operationRequest(poolSetImage, { name, reference, pin: false }) : undefined;
}
