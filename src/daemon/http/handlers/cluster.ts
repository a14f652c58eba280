// Handles clusters.
import { isAbsolute } from 'node:path';
import { localCluster } from '../../../domain/cluster/control-plane.ts';
import { type ClusterRecord, type ClusterView, simCluster } from '../../../domain/cluster/record.ts';
import { ensureImagoError, ImagoError } from '../../../domain/error/imago-error.ts';
import { hasCondition, type KubeNode } from '../../../domain/kube/objects.ts';
import { checkName } from '../../../domain/value/name.ts';
import { requireNamed } from '../../../domain/value/require-named.ts';
import type { Clusters } from '../../../ports/kube/clusters.ts';
import type { Handlers } from '../endpoint/call.ts';
import type { DaemonContext } from '../endpoint/context.ts';

const inspectMs = 20_000;
/** The number of programs of a control plane. */
const services = 4;

export const clusterHandlers = {
  listClusters: async ({ context }) => ({ items: [...(await allClusters(context))] }),
  async showCluster({ context, path, limits, signal }) {
    const record = await requireCluster(context, path.cluster);
    const deadline = AbortSignal.any([signal, AbortSignal.timeout(limits.providerMs)]);
    return lookAt(requireClusters(context), record, deadline);
  },
  async showControlPlane({ context, limits, signal }) {
    const found = await context.controlPlane?.look();
    if (found === undefined) return { state: 'absent', nodes: [] };
    if (found.processes.length === 0) return { ...found, state: 'stopped', nodes: [] };
    const record = await context.clusterBook.get(localCluster);
    if (record === undefined) return { ...found, state: 'degraded', nodes: [], trouble: 'It is starting.' };
    const deadline = AbortSignal.any([signal, AbortSignal.timeout(limits.providerMs)]);
    const { state, trouble, nodes } = await lookAt(requireClusters(context), record, deadline);
    const isWhole = found.processes.length === services && state === 'ready';
    return { ...found, state: isWhole ? 'running' : 'degraded', nodes, ...(trouble && { trouble }) };
  },
  async addCluster({ context, body, caller }) {
    const { kubeconfig, context: kubeContext } = body;
    const name = checkName('cluster', body.name);
    if (name === simCluster.name || name === localCluster)
      throw new ImagoError('cluster-exists', `The name ${name} is for the cluster that Imago runs itself.`, {
        hint: 'Choose another name.',
      });
    if (kubeconfig !== undefined) checkPath(kubeconfig, caller.local);
    const location = {
      ...(kubeconfig !== undefined && { kubeconfig }),
      ...(kubeContext !== undefined && { context: kubeContext }),
    };
    const found = await requireClusters(context).inspect(location, {
      signal: AbortSignal.timeout(inspectMs),
    });
    return {
      subject: `cluster/${name}`,
      plan: async () => [`Register ${found.server} as cluster ${name}.`],
      run: () => context.clusterBook.add({ name, ...location, ...found, by: caller.who }),
    };
  },
  async removeCluster({ context, path }) {
    const record = await requireCluster(context, path.cluster);
    if (record.simulated === true)
      throw new ImagoError('cluster-in-use', 'The cluster of simulated pools cannot be removed.', {
        hint: '',
      });
    return {
      subject: `cluster/${record.name}`,
      before: { ...record },
      plan: async () => [`Unregister cluster ${record.name}. The cluster itself is not changed.`],
      async run() {
        await context.clusterBook.remove(record.name);
        return record;
      },
      record: () => null,
    };
  },
} satisfies Partial<Handlers>;

async function allClusters({ clusterBook }: DaemonContext): Promise<readonly ClusterRecord[]> {
  return [simCluster, ...(await clusterBook.list())].toSorted((a, b) => a.name.localeCompare(b.name));
}

async function requireCluster(context: DaemonContext, name: string): Promise<ClusterRecord> {
  const all = await allClusters(context);
  const found = all.find((one) => one.name === name);
  return requireNamed('cluster', name, found, async () => all.map((one) => one.name));
}

function requireClusters({ clusters }: DaemonContext): Clusters {
  if (clusters !== undefined) return clusters;
  throw new ImagoError('daemon-standby', 'This daemon is on standby: another daemon is active.', {
    httpStatus: 503,
    retryable: true,
  });
}

/** A kubeconfig can name programs to run and files to read. */
function checkPath(path: string, isLocal: boolean): void {
  if (!isLocal)
    throw new ImagoError(
      'recipe-local-input',
      "`kubeconfig` names a file of the daemon's host, and the request came from another one.",
      { hint: 'Run `imago cluster add` on the host of the daemon.' },
    );
  if (!isAbsolute(path)) throw new ImagoError('input-invalid', `The path ${path} is not absolute.`);
}

async function lookAt(clusters: Clusters, record: ClusterRecord, signal: AbortSignal): Promise<ClusterView> {
  try {
    const cluster = await clusters.open(record.name);
    const [version, nodes] = await Promise.all([cluster.version({ signal }), cluster.nodes({ signal })]);
    return { ...record, state: 'ready', version, nodes: nodes.map(nodeView) };
  } catch (thrown) {
    const { kind, message } = ensureImagoError(thrown);
    if (kind === 'bug') throw thrown;
    return { ...record, state: 'unreachable', trouble: message, nodes: [] };
  }
}

function nodeView(node: KubeNode): ClusterView['nodes'][number] {
  const pool = node.metadata.labels?.['imago.dev/pool'];
  return {
    name: node.metadata.name,
    ready: hasCondition(node, 'Ready'),
    schedulable: node.spec?.unschedulable !== true,
    version: node.status?.nodeInfo?.kubeletVersion ?? '',
    ...(pool !== undefined && { pool }),
  };
}
