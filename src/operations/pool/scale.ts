// Changes how many nodes a pool has. Capacity that someone else set meanwhile is never overwritten (rule 3), and no
// node is added of a version that is withdrawn, before or meanwhile.
import * as z from 'zod';
import { ImagoError } from '../../domain/error/imago-error.ts';
import { capacityToRestore, expectCapacity, noDrain } from '../../domain/pool/pool.ts';
import type { Json } from '../../domain/value/json.ts';
import type { OperationKind, StepContext, WorkStep } from '../../ports/workflow/operation.ts';
import { parseInput } from '../../workflow/parse-input.ts';
import { requireResult } from '../../workflow/step-result.ts';
import type { OperationDeps } from '../common/deps.ts';
import {
  poolAccess,
  readyPool,
  recordPoolNodes,
  requirePool,
  requireUsableModel,
  waitForPool,
} from '../node/pool-nodes.ts';

const poolScaleInput = z.object({
  name: z.string(),
  capacity: z.int().min(0).max(100_000),
  /** The number of nodes that the caller believes the pool to have. */
  expect: z.int().min(0).optional(),
});
export type PoolScaleInput = z.infer<typeof poolScaleInput>;

interface Before {
  readonly capacity: number;
  readonly etag: string;
}

export function poolScaleOperation(deps: OperationDeps): OperationKind<PoolScaleInput> {
  return {
    kind: 'pool-scale',
    parse: (input) => parseInput(poolScaleInput, input),
    async plan(input) {
      const { name, capacity } = input;
      const before = await readBefore(deps, input, AbortSignal.timeout(60_000));
      if (capacity > before.capacity) await requireUsableModel(deps, await requirePool(deps, name));
      return [
        `Change pool ${name} from ${before.capacity} to ${capacity} nodes.`,
        ...(capacity < before.capacity ? [noDrain] : []),
      ];
    },
    steps: () => [rememberStep(deps), scaleStep(deps), recordStep(deps)],
  };
}

async function accessOf(deps: OperationDeps, name: string, signal: AbortSignal) {
  const pool = await requirePool(deps, name);
  return { pool, ...poolAccess(deps, pool.provider, signal) };
}

/** Throws `expectation-failed` if the pool has neither the expected number of nodes nor the requested one. */
async function readBefore(
  deps: OperationDeps,
  { name, capacity, expect }: PoolScaleInput,
  signal: AbortSignal,
): Promise<Before> {
  const { pools, options } = await accessOf(deps, name, signal);
  const now = await pools.getPool(name, options);
  if (now === undefined)
    throw new ImagoError('provider-not-found', `The provider has no pool ${name} any more.`);
  if (now.capacity !== capacity) expectCapacity(name, now.capacity, expect);
  return { capacity: now.capacity, etag: now.etag };
}

function rememberStep(deps: OperationDeps): WorkStep<PoolScaleInput> {
  return {
    name: 'remember',
    async do({ input, signal }) {
      return { ...(await readBefore(deps, input, signal)) } satisfies Json;
    },
  };
}

function scaleStep(deps: OperationDeps): WorkStep<PoolScaleInput> {
  return {
    name: 'scale',
    async do(context) {
      const { name, capacity } = context.input;
      const access = await accessOf(deps, name, context.signal);
      const now = await access.pools.getPool(name, access.options);
      if (now?.capacity !== capacity) {
        const { etag, capacity: had } = before(context);
        if (capacity > had) await requireUsableModel(deps, access.pool);
        await access.pools.setCapacity(name, capacity, { ifMatch: etag }, access.options);
      }
      await waitForPool(access, name, capacity, context);
      return { from: before(context).capacity, to: capacity };
    },
    async verify(context) {
      const { name, capacity } = context.input;
      const access = await accessOf(deps, name, context.signal);
      const ready = await readyPool(access, name, capacity);
      return ready && { from: before(context).capacity, to: capacity };
    },
    async undo(context) {
      const { name, capacity } = context.input;
      const access = await accessOf(deps, name, context.signal);
      const now = await access.pools.getPool(name, access.options);
      if (now === undefined) return;
      const wanted = capacityToRestore({
        before: before(context).capacity,
        ours: capacity,
        now: now.capacity,
      });
      if (wanted === undefined) return;
      await access.pools.setCapacity(name, wanted, { ifMatch: now.etag }, access.options);
      await waitForPool(access, name, wanted, context);
    },
  };
}

function recordStep(deps: OperationDeps): WorkStep<PoolScaleInput> {
  return {
    name: 'record',
    async do(context) {
      const { input, signal } = context;
      const access = await accessOf(deps, input.name, signal);
      if (input.capacity > before(context).capacity) await requireUsableModel(deps, access.pool);
      const { count } = await recordPoolNodes(deps, access, access.pool);
      return { name: input.name, nodes: count };
    },
  };
}

function before(context: StepContext<PoolScaleInput>): Before {
  return requireResult<Before>(context, 'remember');
}
