// Restarts, replaces, and deletes single nodes. Each is out of service before it is touched.
import type * as z from 'zod';
import { ImagoError } from '../../domain/error/imago-error.ts';
import * as declared from '../../domain/node/operations.ts';
import { nodeState } from '../../domain/node/state.ts';
import { capacityToRestore } from '../../domain/pool/pool.ts';
import type { ProviderNode } from '../../ports/provider/pools.ts';
import { settle, settleGone } from '../../workflow/poll-until.ts';
import { type NamedStep, operation, type Reading, type Run } from '../common/operation.ts';
import { failureReason, isBroken, openPool, recordPoolNodes, requireSeen, waiting } from './pool-nodes.ts';
import { awaitJoined, leaveService, previewDrains, returnToService, serviceOf } from './service.ts';

type NodeInput = z.output<typeof declared.nodeRestart.input>;

interface Remembered {
  readonly capacity: number;
  readonly imagedAt: string;
  readonly machineId: string;
}
type NodeRun = Run<NodeInput, { readonly remember: Remembered }>;

function planFor(what: string, power?: 'running') {
  return async (run: Reading<NodeInput>) => {
    const { pool, node } = run.input;
    await requireNode(run, power);
    const { pool: record } = await openPool(run, pool);
    return [
      `${what} node ${node} of pool ${pool}.`,
      ...(await previewDrains(run, record, run.input, [node])),
    ];
  };
}

/** Throws `node-not-found`, and `provider-conflict` if the node has to run and does not. */
async function requireNode(run: Reading<NodeInput>, power?: 'running'): Promise<ProviderNode> {
  const { pool, node } = run.input;
  const { pools } = await openPool(run, pool);
  const found = await pools.getNode(pool, node, run.call);
  if (found === undefined || found.state === 'deleting')
    throw new ImagoError('node-not-found', `Pool ${pool} has no node ${node}.`);
  if (power === 'running' && found.power !== 'running')
    throw new ImagoError('provider-conflict', `Node ${node} does not run: it is ${found.power}.`);
  return found;
}

function rememberStep(power?: 'running'): NamedStep<'remember', NodeInput, Record<never, never>, Remembered> {
  return {
    name: 'remember',
    async do(run) {
      const { imagedAt, machineId } = await requireNode(run, power);
      const { capacity } = await requireSeen(await openPool(run, run.input.pool), run.input.pool);
      return { capacity, imagedAt, machineId };
    },
  };
}

const drainStep: NamedStep<'drain', NodeInput, Record<never, never>, object> = {
  name: 'drain',
  timeoutMs: 24 * 3_600_000,
  async do(run) {
    const { pool } = await openPool(run, run.input.pool);
    await leaveService(run, await serviceOf(run, pool, run.input), run.input.node);
    return {};
  },
  undo: (run) => restoreService(run),
};

const returnStep: NamedStep<
  'return',
  NodeInput,
  { readonly remember: Remembered },
  { readonly node: string }
> = {
  name: 'return',
  timeoutMs: 3_600_000,
  async do(run) {
    const access = await openPool(run, run.input.pool);
    await awaitReady(run, access.pool.name, run.input.node);
    await awaitJoined(run, access, await serviceOf(run, access.pool, run.input), run.input.node);
    await restoreService(run);
    await recordPoolNodes(run, access, access.pool);
    return { node: run.input.node };
  },
};

async function restoreService(run: Run<NodeInput>): Promise<void> {
  const { pool } = await openPool(run, run.input.pool);
  await returnToService(run, await serviceOf(run, pool, run.input), run.input.node);
}

async function awaitReady(run: Run<NodeInput>, pool: string, node: string): Promise<void> {
  const access = await openPool(run, pool);
  await settle(
    async () => {
      const found = await access.pools.getNode(pool, node, run.call);
      if (found === undefined) throw new ImagoError('node-not-found', `Node ${node} is gone.`);
      if (isBroken(nodeState(found)))
        throw new ImagoError('provider-failed', `Node ${node} failed: ${failureReason(found)}.`);
      return nodeState(found) === 'ready' ? true : undefined;
    },
    waiting(access, `Node ${node}`),
  );
}

async function awaitPower(run: NodeRun, power: 'running' | 'stopped'): Promise<void> {
  const { pool, node } = run.input;
  const access = await openPool(run, pool);
  await settle(
    async () => ((await access.pools.getNode(pool, node, run.call))?.power === power ? true : undefined),
    waiting(access, `Node ${node}`),
  );
}

export const nodeRestart = operation(declared.nodeRestart, { plan: planFor('Restart', 'running') })
  .use(rememberStep('running'))
  .use(drainStep)
  .step('stop', {
    async do(run) {
      const { pools } = await openPool(run, run.input.pool);
      await pools.stopNode(run.input.pool, run.input.node, run.call);
      await awaitPower(run, 'stopped');
      return {};
    },
    async undo(run) {
      const { pools } = await openPool(run, run.input.pool);
      if ((await pools.getNode(run.input.pool, run.input.node, run.call)) === undefined) return;
      await pools.startNode(run.input.pool, run.input.node, run.call);
      await awaitPower(run, 'running');
    },
  })
  .step('start', async (run) => {
    const { pools } = await openPool(run, run.input.pool);
    await pools.startNode(run.input.pool, run.input.node, run.call);
    await awaitPower(run, 'running');
    return {};
  })
  .use(returnStep);

export const nodeDelete = operation(declared.nodeDelete, { plan: planFor('Delete') })
  .use(rememberStep())
  .use(drainStep)
  .step('delete', async (run) => {
    const { pool, node } = run.input;
    const access = await openPool(run, pool);
    await access.pools.deleteNode(pool, node, run.call);
    await settleGone(
      () => access.pools.getNode(pool, node, run.call),
      waiting(access, `The removal of node ${node}`),
    );
    await recordPoolNodes(run, access, access.pool);
    return { node };
  });

/** In place where the provider can; else the node is deleted, and the pool gets another one. */
export const nodeReplace = operation(declared.nodeReplace, { plan: planFor('Replace') })
  .use(rememberStep())
  .use(drainStep)
  .step('replace', {
    async do(run) {
      const { pool, node } = run.input;
      const access = await openPool(run, pool);
      const isInPlace = access.pool.orchestration === 'uniform' && access.provider.abilities.reimage === true;
      if (!isInPlace) return replaceByNew(run);
      const { imagedAt } = run.result('remember');
      const now = await access.pools.getNode(pool, node, run.call);
      if (now?.imagedAt === imagedAt && now.state !== 'updating')
        await access.pools.reimageNode(pool, node, run.call);
      await settle(
        async () => {
          const found = await access.pools.getNode(pool, node, run.call);
          return found?.imagedAt !== imagedAt || found.state === 'failed' ? true : undefined;
        },
        waiting(access, `The new disk of node ${node}`),
      );
      return { gone: false };
    },
  })
  .step('return', async (run) => {
    if (!run.result('replace').gone) return returnStep.do(run);
    const access = await openPool(run, run.input.pool);
    await recordPoolNodes(run, access, access.pool);
    return { node: run.input.node };
  });

async function replaceByNew(run: NodeRun): Promise<{ readonly gone: boolean }> {
  const { pool, node } = run.input;
  const { capacity, machineId } = run.result('remember');
  const access = await openPool(run, pool);
  const old = await access.pools.getNode(pool, node, run.call);
  if (old?.machineId === machineId) await access.pools.deleteNode(pool, node, run.call);
  await settle(
    async () =>
      (await access.pools.getNode(pool, node, run.call))?.machineId === machineId ? undefined : true,
    waiting(access, `The removal of node ${node}`),
  );
  const seen = await requireSeen(access, pool);
  // Rule 3: a capacity that another user has set since stays.
  const wanted = capacityToRestore({ before: capacity, ours: capacity - 1, now: seen.capacity });
  if (wanted !== undefined) await access.pools.setCapacity(pool, wanted, { ifMatch: seen.etag }, run.call);
  await settle(
    async () => ((await requireSeen(access, pool)).state === 'ready' ? true : undefined),
    waiting(access, `Pool ${pool}`),
  );
  return { gone: true };
}
