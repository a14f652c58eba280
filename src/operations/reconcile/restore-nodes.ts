// Returns nodes to service that an operation of Imago had taken out of it, if that operation has ended: one that was
// killed with its undo, or whose undo could not reach the cluster (rule 1).
import { hasCondition, type KubeNode } from '../../domain/kube/objects.ts';
import type { PoolRecord } from '../../ports/database/fleet.ts';
import type { CallOptions } from '../../ports/provider/call.ts';
import { allPages } from '../common/all-pages.ts';
import type { OperationDeps } from '../common/deps.ts';
import { poolAccess } from '../node/pool-nodes.ts';
import type { Guard } from './guard.ts';

interface Pass extends Guard {
  readonly call: CallOptions;
}

/** Reads each cluster once. A node that is not ready stays cordoned, as a problem. Returns the names of the nodes that it restored. */
export async function restoreNodes(
  deps: OperationDeps,
  { guard, problems, call }: Pass,
): Promise<readonly string[]> {
  const pools = await Array.fromAsync(allPages((query) => deps.fleet.listPools(query)));
  const restored: string[] = [];
  for (const [cluster, own] of Map.groupBy(pools, (pool) => pool.cluster)) {
    if (cluster === undefined) continue;
    const what = `The nodes of cluster ${cluster} could not be checked`;
    await guard('nodes-not-checked', `cluster/${cluster}`, what, async () => {
      const open = await deps.clusterOf({ cluster });
      for (const node of (await open?.nodes(call)) ?? []) {
        const owner = await endedOwner(deps, node);
        if (open === undefined || owner === undefined) continue;
        if (await startStopped(deps, own, node, call)) continue;
        const { name } = node.metadata;
        if (!hasCondition(node, 'Ready')) {
          const message = `Node ${name} is not ready, and operation ${owner}, which took it out of service, has ended.`;
          problems.push({ kind: 'node-not-returned', subject: `node/${name}`, message });
          continue;
        }
        await open.uncordon(name, { owner, uid: node.metadata.uid ?? '' }, call);
        restored.push(name);
      }
    });
  }
  return restored;
}

/** The operation that took the node out of service, if it has ended. */
async function endedOwner({ journal }: OperationDeps, node: KubeNode): Promise<string | undefined> {
  const { annotations = {} } = node.metadata;
  const owner = annotations['imago.dev/in-work-by'] ?? annotations['imago.dev/cordoned-by'];
  if (owner === undefined) return undefined;
  const operation = await journal.get(owner);
  return operation === undefined || operation.endedAt !== undefined ? owner : undefined;
}

/** A node that is off starts first: it is uncordoned by the pass that finds it running. */
async function startStopped(
  deps: OperationDeps,
  pools: readonly PoolRecord[],
  { metadata: { name, labels = {} } }: KubeNode,
  call: CallOptions,
): Promise<boolean> {
  const pool = pools.find((one) => one.name === labels['imago.dev/pool']);
  if (pool === undefined) return false;
  const access = poolAccess({ ...deps, call }, pool.provider);
  const node = await access.pools.getNode(pool.name, name, call);
  if (node?.power !== 'stopped' && node?.power !== 'stopping') return false;
  await access.pools.startNode(pool.name, name, call);
  return true;
}
