// Sets the Kubernetes cluster that the nodes of a pool belong to: where they are cordoned and drained.
import { simCluster } from '../../domain/cluster/record.ts';
import { ImagoError } from '../../domain/error/imago-error.ts';
import * as declared from '../../domain/pool/operations.ts';
import type { Provider } from '../../ports/provider/provider.ts';
import { operation, type Reading } from '../common/operation.ts';
import { openPool, requirePool } from '../node/pool-nodes.ts';

export const poolSetCluster = operation(declared.poolSetCluster, {
  async prepare(run) {
    const { cluster } = await requirePool(run, run.input.name);
    return { before: { cluster } };
  },
  async plan(run) {
    const { name, cluster } = run.input;
    const { pool, provider } = await openPool(run, name);
    await checkCluster(run, provider, cluster);
    if (pool.cluster === cluster) return [`Pool ${name} stays in ${place(cluster)}.`];
    return [`Move pool ${name} from ${place(pool.cluster)} to ${place(cluster)}. Its nodes are not changed.`];
  },
})
  .step('remember', async (run) => {
    const { pool, provider } = await openPool(run, run.input.name);
    await checkCluster(run, provider, run.input.cluster);
    return pool;
  })
  .step('record', {
    async do(run) {
      const { name, cluster } = await run.fleet.setPoolCluster(run.input.name, run.input.cluster);
      return { name, ...(cluster !== undefined && { cluster }) };
    },
    async undo(run) {
      await run.fleet.setPoolCluster(run.input.name, run.result('remember').cluster);
    },
  });

function place(cluster: string | undefined): string {
  return cluster === undefined ? 'no cluster' : `cluster ${cluster}`;
}

/** Returns the cluster of a new pool. Throws if the pool cannot belong to the one that was asked for. */
export async function clusterName(
  run: Reading,
  provider: Provider,
  asked: string | undefined,
): Promise<string | undefined> {
  const cluster = asked ?? (provider.abilities.simulated ? simCluster.name : undefined);
  await checkCluster(run, provider, cluster);
  return cluster;
}

/** Throws `cluster-not-found`, or `simulation-mixed` if one of the two is simulated and the other is real. */
async function checkCluster(
  run: Reading,
  { name, abilities }: Provider,
  cluster: string | undefined,
): Promise<void> {
  if (cluster === undefined) return;
  if (abilities.simulated !== (cluster === simCluster.name))
    throw new ImagoError('simulation-mixed', `Nodes of provider ${name} cannot be in cluster ${cluster}.`, {
      hint: `Only simulated pools belong to the cluster ${simCluster.name}.`,
    });
  await run.clusterOf({ cluster });
}
