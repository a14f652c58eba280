// Takes a pool and its nodes away. Cannot be taken back; the record of what its nodes were made from stays.
import * as z from 'zod';
import type { OperationKind, WorkStep } from '../../ports/workflow/operation.ts';
import { parseInput } from '../../workflow/parse-input.ts';
import type { OperationDeps } from '../common/deps.ts';
import { poolAccess, recordPoolNodes, requirePool, waitForPoolGone } from '../node/pool-nodes.ts';

const poolDeleteInput = z.object({ name: z.string() });
export type PoolDeleteInput = z.infer<typeof poolDeleteInput>;

export function poolDeleteOperation(deps: OperationDeps): OperationKind<PoolDeleteInput> {
  return {
    kind: 'pool-delete',
    parse: (input) => parseInput(poolDeleteInput, input),
    async plan({ name }) {
      const pool = await requirePool(deps, name);
      const { pools, options } = poolAccess(deps, pool.provider, AbortSignal.timeout(60_000));
      const now = await pools.getPool(name, options);
      return [`Delete pool ${name} and its ${now?.capacity ?? 0} nodes. This cannot be taken back.`];
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
