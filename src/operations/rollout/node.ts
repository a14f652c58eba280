// Moves one node of a pool to the pool's model, as a part of a rollout. A node that is gone has nothing to move.
import { ensureImagoError, ImagoError } from '../../domain/error/imago-error.ts';
import { capacityToRestore } from '../../domain/pool/pool.ts';
import * as declared from '../../domain/rollout/operations.ts';
import { operation } from '../common/operation.ts';
import { openPool, recordPoolNodes, requireSeen } from '../node/pool-nodes.ts';
import { awaitJoined, leaveService, returnToService, serviceOf } from '../node/service.ts';
import { replaceNode } from '../pool/replace-node.ts';

export const rolloutNode = operation(declared.rolloutNode, {
  plan: ({ input: { name, node } }) => [`Move node ${node} of pool ${name} to the model of the pool.`],
  removed: ['record'],
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
      const service = await serviceOf(run, access.pool, run.input);
      try {
        await replaceNode(
          {
            ...{ access, versions: [version], capacity, stopped: new Set(stopped ? [node] : []) },
            leave: (name) => leaveService(run, service, name),
            enter: (name) => awaitJoined(run, access, service, name),
          },
          node,
        );
        await returnToService(run, service, node);
        // Rule 6: what the new disk was created from.
        await recordPoolNodes(run, access, access.pool, node);
      } catch (thrown) {
        const error = ensureImagoError(thrown);
        if (error.code !== 'provider-timeout') throw thrown;
        throw new ImagoError('provider-failed', error.message, { cause: error, retryable: false });
      }
      return { node };
    },
    /** A moved node stays; one that was added to replace another is removed, unless another user set the capacity. */
    async undo(run) {
      const { name, node } = run.input;
      const { pools, pool } = await openPool(run, name);
      await returnToService(run, await serviceOf(run, pool, run.input), node);
      const seen = await pools.getPool(name, run.call);
      if (seen === undefined || pool.orchestration === 'uniform') return 'kept';
      const { capacity } = run.result('remember');
      const wanted = capacityToRestore({ before: capacity, ours: capacity + 1, now: seen.capacity });
      if (wanted !== undefined) await pools.setCapacity(name, wanted, { ifMatch: seen.etag }, run.call);
      return 'kept';
    },
  });
