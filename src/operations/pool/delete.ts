// Takes a pool and its nodes away. Cannot be taken back; the record of what its nodes were made from stays.
import * as z from 'zod';
import { expectCapacity, noDrain } from '../../domain/pool/pool.ts';
import type { OperationKind, WorkStep } from '../../ports/workflow/operation.ts';
import { parseInput } from '../../workflow/parse-input.ts';
import type { OperationDeps } from '../common/deps.ts';
import { poolAccess, recordPoolNodes, requirePool, waitForPoolGone } from '../node/pool-nodes.ts';

const poolDeleteInput = z.object({
  name: z.string(),
  /** The number of nodes that the caller believes the pool to have. */
  expect: z.int().min(0).optional(),
});
export type PoolDeleteInput = z.infer<typeof poolDeleteInput>;

export function poolDeleteOperation(deps: OperationDeps): OperationKind<PoolDeleteInput> {
  return {
    kind: 'pool-delete',
    parse: (input) => parseInput(poolDeleteInput, input),
    async plan({ name, expect }) {
      const pool = await requirePool(deps, name);
      const { pools, options } = poolAccess(deps, pool.provider, AbortSignal.timeout(60_000));
      const now = await pools.getPool(name, options);
      expectCapacity(name, now?.capacity ?? 0, expect);
      return [`Delete pool ${name} and its ${now?.capacity ?? 0} nodes. This cannot be undone.`, noDrain];
    },
    steps: () => [deleteStep(deps), recordStep(deps)],
  };
}

function deleteStep(deps: OperationDeps): WorkStep<PoolDeleteInput> {
  return {
    name: 'delete',
    async do({ input, signal }) {
      const pool = await requirePool(deps, input.name);
      const access = poolAccess(deps, pool.provider, signal);
      const now = await access.pools.getPool(input.name, access.options);
      if (now !== undefined && now.state !== 'deleting')
        expectCapacity(input.name, now.capacity, input.expect);
      await recordPoolNodes(deps, access, pool);
      await access.pools.deletePool(input.name, access.options);
      await waitForPoolGone(access, input.name, signal);
      return { name: input.name };
    },
  };
}

function recordStep(deps: OperationDeps): WorkStep<PoolDeleteInput> {
  return {
    name: 'record',
    async do({ input }) {
      await deps.fleet.removePool(input.name);
      return { name: input.name };
    },
  };
}
