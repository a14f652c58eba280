// Opens the registered clusters, and the simulated one, for operations and handlers. A connection is shared until the
// kubeconfig changes.
import { stat } from 'node:fs/promises';
import { describeRight, neededRights, type Right, simCluster } from '../domain/cluster/record.ts';
import { ImagoError } from '../domain/error/imago-error.ts';
import { requireNamed } from '../domain/value/require-named.ts';
import { clusterOf, joiningOf, type KubeClient, openKubeClient } from '../kube/cluster.ts';
import type { Clock } from '../ports/clock.ts';
import type { ClusterBook } from '../ports/database/clusters.ts';
import type { PoolRecord } from '../ports/database/fleet.ts';
import type { KubeApi, KubeCall } from '../ports/kube/api.ts';
import type { Cluster } from '../ports/kube/cluster.ts';
import type { ClusterLocation, Clusters, PoolCluster } from '../ports/kube/clusters.ts';

export interface OpenClusters extends Clusters {
  ofPool(pool: Pick<PoolRecord, 'cluster'>): Promise<PoolCluster | undefined>;
  close(): void;
}

export interface ClusterParts {
  readonly book: ClusterBook;
  readonly sim: Cluster;
  readonly clock: Clock;
}

/** A person waits for the result of a registration. */
const inspection = { timeoutMs: 10_000, retry: { attempts: 1, firstDelayMs: 0, longestDelayMs: 0 } };

export function openClusters({ book, sim, clock }: ClusterParts): OpenClusters {
  const opened = new Map<string, Opened>();

  async function openLocation(name: string, location: ClusterLocation): Promise<Opened> {
    const { kubeconfig, context } = location;
    const changedAt =
      kubeconfig === undefined ? 0 : ((await stat(kubeconfig).catch(() => undefined))?.mtimeMs ?? 0);
    const stamp = JSON.stringify([kubeconfig, context, changedAt]);
    const known = opened.get(name);
    if (known?.stamp === stamp) return known;
    const client = await openKubeClient(location);
    opened.get(name)?.client.close();
    const joining = joiningOf(client, clock);
    const cluster = named(name, { ...clusterOf(client, clock), ...(joining && { joining }) });
    const made = { stamp, client, cluster };
    opened.set(name, made);
    return made;
  }

  async function open(name: string): Promise<PoolCluster> {
    if (name === simCluster.name) return named(name, sim);
    const record = await requireNamed('cluster', name, await book.get(name), async () =>
      [simCluster, ...(await book.list())].map((one) => one.name),
    );
    return (await openLocation(name, record)).cluster;
  }

  return {
    open,
    ofPool: async ({ cluster }) => (cluster === undefined ? undefined : open(cluster)),
    async inspect(location, call) {
      const client = await openKubeClient(location, inspection);
      try {
        await client.discover(call);
        await requireRights(client, call);
        const system = await client.get('namespaces', { name: 'kube-system' }, call);
        return { server: client.server, uid: system?.metadata.uid ?? client.server };
      } finally {
        client.close();
      }
    },
    close() {
      for (const { client } of opened.values()) client.close();
    },
  };
}

interface Opened {
  readonly stamp: string;
  readonly client: KubeClient;
  readonly cluster: PoolCluster;
}

function named(name: string, cluster: Cluster & Pick<PoolCluster, 'joining'>): PoolCluster {
  return { ...cluster, name, nodeName: (node) => node.name.toLowerCase() };
}

async function requireRights(api: KubeApi, call: KubeCall): Promise<void> {
  const rights: readonly Right[] = [...neededRights, { verb: 'get', group: '', resource: 'namespaces' }];
  const allowed = await Promise.all(rights.map((right) => api.allows(right, call)));
  const missing = rights.filter((_, index) => allowed[index] !== true);
  if (missing.length === 0) return;
  throw new ImagoError(
    'cluster-forbidden',
    `The credentials do not allow ${missing.map(describeRight).join(', ')}.`,
    { details: { missing: missing.map((right) => ({ ...right })) } },
  );
}
