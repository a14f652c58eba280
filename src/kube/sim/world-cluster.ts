// The cluster of simulated pools. Its Node objects follow the machines of the simulated world: a machine joins when it is
// ready, is NotReady while it is off, and its node is deleted with it. Nodes are brought up to date when they are needed,
// so that virtual time needs no loop of its own.
import { hasCondition, type KubeNode } from '../../domain/kube/objects.ts';
import type { Clock } from '../../ports/clock.ts';
import type { KubeApi } from '../../ports/kube/api.ts';
import type { Cluster } from '../../ports/kube/cluster.ts';
import type { ClusterWorld, WorldMachine } from '../../ports/kube/world.ts';
import { clusterOf } from '../cluster.ts';
import { startKubelet } from './kubelet.ts';
import { simulateCluster } from './simulated-cluster.ts';

export interface WorldCluster {
  /** As Imago uses it. */
  readonly cluster: Cluster;
  /** Returns the API as another writer uses it, such as kubectl or a controller. */
  apiAs(manager: string): KubeApi;
  close(): Promise<void>;
}

export function openWorldCluster(world: ClusterWorld, clock: Clock): WorldCluster {
  const simulated = simulateCluster(clock, world);
  const kubelets = simulated.apiAs('kubelet');
  const kubelet = startKubelet(kubelets, clock, 'pods');

  async function follow(name?: string): Promise<void> {
    const found =
      name === undefined ? (await kubelets.list('nodes')).items : [await kubelets.get('nodes', { name })];
    const known = new Map(found.flatMap((node) => (node === undefined ? [] : [[node.metadata.name, node]])));
    for (const machine of world.machines(name)) {
      const node = known.get(machine.name);
      known.delete(machine.name);
      await followMachine(machine, node);
    }
    // A node that something else created has no machine, and stays.
    for (const { metadata, spec } of known.values())
      if (spec?.providerID?.startsWith(scheme) === true) await kubelets.delete('nodes', metadata);
  }

  async function followMachine(machine: WorldMachine, known: KubeNode | undefined): Promise<void> {
    const { name } = machine;
    const isSame = known?.spec?.providerID === providerId(machine);
    if (known !== undefined && !isSame) await kubelets.delete('nodes', { name });
    if (known === undefined || !isSame) {
      if (machine.ready) await kubelets.create('nodes', nodeOf(machine, clock.now()));
      return;
    }
    const isRebuilt = known.metadata.labels?.[labels.version] !== machine.version;
    if (hasCondition(known, 'Ready') === machine.ready && !(isRebuilt && machine.ready)) return;
    const { metadata, status } = nodeOf(machine, clock.now());
    const changed = machine.ready ? { metadata: { labels: metadata.labels }, status } : { status };
    await kubelets.patch('nodes', { name }, changed);
  }

  function apiAs(manager: string): KubeApi {
    const api = simulated.apiAs(manager);
    return {
      ...api,
      async get(resource, name) {
        if (resource === 'nodes') await follow(name.name);
        return api.get(resource, name);
      },
      async list(resource, selection) {
        if (resource === 'nodes') await follow();
        return api.list(resource, selection);
      },
      // Pods are placed on the nodes that are there by now.
      async create(resource, object) {
        await follow();
        return api.create(resource, object);
      },
      async evict(pod, options) {
        await follow();
        return api.evict(pod, options);
      },
    };
  }

  const cluster = clusterOf(apiAs('imago'), clock);
  return {
    cluster: {
      ...cluster,
      nodes: async (call) => (await cluster.nodes(call)).map((node) => beating(node, clock.now())),
      async node(name, call) {
        const node = await cluster.node(name, call);
        return node && beating(node, clock.now());
      },
    },
    apiAs,
    close: () => kubelet.stop(),
  };
}

/** The kubelet of a ready node reports all the time, which nothing needs to store. */
function beating(node: KubeNode, now: number): KubeNode {
  const lastHeartbeatTime = new Date(now).toISOString();
  const conditions = node.status?.conditions?.map((condition) =>
    condition.status === 'Unknown' ? condition : { ...condition, lastHeartbeatTime },
  );
  return { ...node, status: { ...node.status, ...(conditions && { conditions }) } };
}

const scheme = 'sim:///';
const labels = { image: 'imago.dev/image', version: 'imago.dev/version', pool: 'imago.dev/pool' } as const;

function providerId({ machineId }: WorldMachine): string {
  return `${scheme}${machineId}`;
}

function nodeOf(machine: WorldMachine, now: number): KubeNode {
  const { name, image, version, pool, ready, kubernetes = '1.36.3' } = machine;
  const time = new Date(now).toISOString();
  const condition = ready
    ? { status: 'True', reason: 'KubeletReady' }
    : { status: 'Unknown', reason: 'NodeStatusUnknown' };
  return {
    metadata: {
      name,
      labels: {
        ...{ 'kubernetes.io/hostname': name, [labels.image]: image },
        ...{ [labels.version]: version, [labels.pool]: pool },
      },
    },
    spec: { providerID: providerId(machine) },
    status: {
      conditions: [{ type: 'Ready', ...condition, lastHeartbeatTime: time, lastTransitionTime: time }],
      nodeInfo: { kubeletVersion: `v${kubernetes}` },
    },
  };
}
