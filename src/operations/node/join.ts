// Nodes that join the cluster of their pool automatically: what their config needs, when they count as ready, and what the
// cluster shows of them.
import { localCluster } from '../../domain/cluster/control-plane.ts';
import { ensureImagoError } from '../../domain/error/imago-error.ts';
import { hasCondition, type KubeNode } from '../../domain/kube/objects.ts';
import type { NodeRecord } from '../../domain/node/node.ts';
import { nodeState } from '../../domain/node/state.ts';
import type { NodeConfig } from '../../domain/node-config/schema.ts';
import { withJoin } from '../../domain/node-config/with-join.ts';
import type { NodeMarks } from '../../ports/kube/cluster.ts';
import type { PoolCluster } from '../../ports/kube/clusters.ts';
import type { CallOptions } from '../../ports/provider/call.ts';
import type { Pools, ProviderNode } from '../../ports/provider/pools.ts';
import type { Provider } from '../../ports/provider/provider.ts';
import type { Calls, OperationDeps } from '../common/deps.ts';
import { inBatches } from '../common/in-batches.ts';

type Joins = Pick<Calls, 'clusterOf' | 'joinSource' | 'call'>;

/** Completes the config if the provider and the credentials for the cluster allow it. Throws `cluster-unreachable`. */
export async function joinedConfig(
  run: Joins,
  provider: Pick<Provider, 'identities'>,
  name: string | undefined,
  config: NodeConfig,
): Promise<NodeConfig> {
  const { joinSource } = run;
  if (name === undefined || config.kubernetes !== undefined) return config;
  if (provider.identities === undefined || joinSource === undefined) return config;
  const { joining } = (await run.clusterOf({ cluster: name })) ?? {};
  if (joining === undefined || !(await joining.isAllowed(run.call))) return config;
  const { server: apiServer, ca } = joining;
  return withJoin(config, { apiServer, ca, source: await joinSource(name) });
}

/** The pools of a provider, with nodes that are ready only when their cluster reports it for this boot. */
export function joinedPools(
  { pools, provider }: { readonly pools: Pools; readonly provider: Provider },
  cluster: PoolCluster,
): Pools {
  const { nodeConfigs, identities } = provider;
  if (identities === undefined || cluster.joining === undefined) return pools;

  async function judge(
    node: ProviderNode,
    find: (name: string) => Promise<KubeNode | undefined>,
    options: CallOptions,
  ): Promise<ProviderNode> {
    if (nodeState(node) !== 'ready') return node;
    try {
      const object = await find(cluster.nodeName(node));
      const report = await nodeConfigs?.getReport(node.pool, node.name, options);
      const isOfBoot = report === undefined || object?.status?.nodeInfo?.bootID === report.bootId;
      if (object === undefined || !isOfBoot) return { ...node, health: 'unknown' };
      if (hasCondition(object, 'Ready')) return node;
      const { message } = object.status?.conditions?.find(({ type }) => type === 'Ready') ?? {};
      return {
        ...node,
        health: 'unknown',
        trouble: `Cluster ${cluster.name}: ${message ?? 'it is not ready'}`,
      };
    } catch (thrown) {
      options.signal.throwIfAborted();
      return { ...node, health: 'unknown', trouble: ensureImagoError(thrown).message };
    }
  }

  return {
    ...pools,
    async getNode(pool, name, options) {
      const node = await pools.getNode(pool, name, options);
      return node && judge(node, (object) => cluster.node(object, options), options);
    },
    async listNodes(pool, query, options) {
      const page = await pools.listNodes(pool, query, options);
      let objects: Promise<ReadonlyMap<string, KubeNode>> | undefined;
      const find = async (name: string) => {
        objects ??= readObjects(cluster, options);
        return (await objects).get(name);
      };
      const items: ProviderNode[] = [];
      for (const node of page.items) items.push(await judge(node, find, options));
      return { ...page, items };
    },
  };
}

async function readObjects(
  cluster: PoolCluster,
  options: CallOptions,
): Promise<ReadonlyMap<string, KubeNode>> {
  return new Map((await cluster.nodes(options)).map((node) => [node.metadata.name, node]));
}

const poolLabel = 'imago.dev/pool';
const machineAnnotation = 'imago.dev/machine';

/** What the cluster has of a pool. */
interface ClusterView {
  readonly cluster: PoolCluster;
  readonly options: CallOptions;
  readonly objects: readonly KubeNode[];
  readonly trouble?: string;
}

/**
 * Returns `undefined` for pools whose nodes do not join automatically. Read it before the nodes of the pool: then a node
 * that joins in between is not taken for a deleted one.
 */
export async function viewCluster(
  { clusterOf }: Pick<OperationDeps, 'clusterOf'>,
  { provider, options }: { readonly provider: Provider; readonly options: CallOptions },
  pool: { readonly name: string; readonly cluster?: string | undefined },
): Promise<ClusterView | undefined> {
  if (provider.identities === undefined) return undefined;
  const cluster = await clusterOf(pool).catch(() => undefined);
  if (cluster?.joining === undefined) return undefined;
  try {
    const all = await cluster.nodes(options);
    const objects = all.filter(({ metadata }) => metadata.labels?.[poolLabel] === pool.name);
    return { cluster, options, objects };
  } catch (thrown) {
    options.signal.throwIfAborted();
    return { cluster, options, objects: [], trouble: ensureImagoError(thrown).message };
  }
}

export type MadeNode = Omit<NodeRecord, 'goneAt' | 'schedulable'>;

export interface RecordedPool {
  readonly records: readonly MadeNode[];
  /** Names of the nodes that exist, also of those that are not recorded. */
  readonly alive: ReadonlySet<string>;
  readonly ready: ReadonlySet<string>;
  /** The only node that was recorded; absent: all of the pool were. */
  readonly only?: string | undefined;
}

/**
 * Marks the objects of nodes with what they were created from, and deletes those of deleted nodes. Returns why that was
 * not possible; the next reconciliation repeats it.
 */
export async function showInCluster(
  { fleet }: Pick<OperationDeps, 'fleet'>,
  view: ClusterView,
  { records, alive, ready, only }: RecordedPool,
): Promise<string | undefined> {
  const { cluster, options, objects, trouble } = view;
  if (trouble !== undefined) return trouble;
  const made = new Map(records.map((record) => [cluster.nodeName(record), record]));
  const living = new Set([...alive].map((name) => cluster.nodeName({ name })));
  try {
    await inBatches(objects, async (object) => {
      const { name, uid = '' } = object.metadata;
      const record = made.get(name);
      if (record !== undefined) {
        if (ready.has(record.name)) await cluster.joining?.dropToken(name, options);
        const marks = marksOf(record);
        if (!hasMarks(object, marks)) await cluster.markNode(name, marks, options);
      } else if (only === undefined && !living.has(name) && (await isOurs(fleet, view, object)))
        await cluster.deleteNode(name, uid, options);
    });
    return undefined;
  } catch (thrown) {
    options.signal.throwIfAborted();
    return ensureImagoError(thrown).message;
  }
}

/** In a cluster that Imago does not run, only the objects of machines that it has deleted are its own. */
async function isOurs(
  fleet: OperationDeps['fleet'],
  { cluster }: ClusterView,
  { metadata: { name, annotations } }: KubeNode,
): Promise<boolean> {
  if (cluster.name === localCluster) return true;
  const last = await fleet.getNode(name);
  return last?.goneAt !== undefined && last.machineId === annotations?.[machineAnnotation];
}

function marksOf(node: MadeNode): NodeMarks {
  const { image, version, pool, digest, machineId, reference, channel, move } = node;
  return {
    labels: { [poolLabel]: pool, 'imago.dev/image': image, 'imago.dev/version': version },
    annotations: {
      ...{ [machineAnnotation]: machineId, 'imago.dev/digest': digest, 'imago.dev/reference': reference },
      ...(channel !== undefined && move !== undefined && { 'imago.dev/channel-move': `${channel}/${move}` }),
    },
  };
}

function hasMarks({ metadata: { labels, annotations } }: KubeNode, marks: NodeMarks): boolean {
  const isPart = (wanted: Readonly<Record<string, string>>, found: Readonly<Record<string, string>> = {}) =>
    Object.entries(wanted).every(([key, value]) => found[key] === value);
  return isPart(marks.labels, labels) && isPart(marks.annotations, annotations);
}

/** Deletes the objects of nodes of a pool that was never recorded. */
export async function dropFromCluster(
  deps: Pick<OperationDeps, 'clusterOf' | 'fleet'>,
  access: { readonly provider: Provider; readonly options: CallOptions },
  pool: { readonly name: string; readonly cluster?: string | undefined },
): Promise<void> {
  const view = await viewCluster(deps, access, pool);
  const none = { records: [], alive: new Set<string>(), ready: new Set<string>() };
  if (view !== undefined) await showInCluster(deps, view, none);
}
