// Moves one node of a pool to the pool's model, as a part of a rollout. A node that is gone has nothing to move.
import { ensureImagoError, ImagoError } from '../../domain/error/imago-error.ts';
import { nodeState } from '../../domain/node/state.ts';
import { capacityToRestore } from '../../domain/pool/pool.ts';
import * as declared from '../../domain/rollout/operations.ts';
import { operation, type Run } from '../common/operation.ts';
import { openPool, recordPoolNodes, requireSeen } from '../node/pool-nodes.ts';
import { replaceNode } from '../pool/replace-node.ts';

interface NodeInput {
  readonly name: string;
  readonly node: string;
  readonly version: string;
}

export const rolloutNode = operation(declared.rolloutNode, {
  plan: ({ input: { name, node } }) => [`Move node ${node} of pool ${name} to the model of the pool.`],
})
  .step('remember', async (run) => {
    const access = await openPool(run, run.input.name);
    const { capacity } = await requireSeen(access, run.input.name);
    const node = await access.pools.getNode(run.input.name, run.input.node, run.call);
    // A node that does not run must not run afterwards (rule 1).
    return { capacity, stopped: node?.power === 'stopped' || node?.power === 'stopping' };
  })
  .step('move', {
    async do(run) {
      const { name, node, version } = run.input;
      const { capacity, stopped } = run.result('remember');
      const access = await openPool(run, name);
      if (await isMoved(run)) return { node };
      try {
        await replaceNode(
          { access, versions: [version], capacity, stopped: new Set(stopped ? [node] : []) },
          node,
        );
      } catch (thrown) {
        const error = ensureImagoError(thrown);
        if (error.code !== 'provider-timeout') throw thrown;
        throw new ImagoError('provider-failed', error.message, { cause: error, retryable: false });
      }
      return { node };
    },
    verify: async (run) => ((await isMoved(run)) ? { node: run.input.node } : undefined),
    /** A moved node stays; one that was added to replace another is removed, unless another user set the capacity. */
    async undo(run) {
      const { name } = run.input;
      const { pools, pool } = await openPool(run, name);
      const seen = await pools.getPool(name, run.call);
      if (seen === undefined || pool.orchestration === 'uniform') return 'kept';
      const { capacity } = run.result('remember');
      const wanted = capacityToRestore({ before: capacity, ours: capacity + 1, now: seen.capacity });
      if (wanted !== undefined) await pools.setCapacity(name, wanted, { ifMatch: seen.etag }, run.call);
      return 'kept';
    },
  })
  // Rule 6: what the new disk was created from.
  .step('record', async (run) => {
    const access = await openPool(run, run.input.name);
    await recordPoolNodes(run, access, access.pool);
    return run.result('move');
  });

async function isMoved(run: Run<NodeInput>): Promise<boolean> {
  const { name, node, version } = run.input;
  const { pools } = await openPool(run, name);
  const seen = await pools.getNode(name, node, run.call);
  if (seen === undefined) return true;
  if (`${seen.image}:${seen.version}` === version || !seen.latestModelApplied) return false;
  return ['ready', 'stopped'].includes(nodeState(seen));
}
