// The public face of the room: opens a cluster by its kubeconfig, or by the service account that Imago runs as.
import { ImagoError } from '../domain/error/imago-error.ts';
import type { Clock } from '../ports/clock.ts';
import type { KubeApi } from '../ports/kube/api.ts';
import type { Cluster } from '../ports/kube/cluster.ts';
import { type ClientOptions, type KubeClient, kubeClient } from './client/client.ts';
import { inClusterConnection, readKubeconfig } from './client/kubeconfig.ts';
import { cordon, uncordon } from './drain/cordon.ts';
import { drain, podsLeft, previewDrain } from './drain/drain.ts';

export type { KubeClient } from './client/client.ts';
export { joiningOf } from './join/joining.ts';

export interface KubeLocation {
  /** Defaults to the service account of the pod that Imago runs in. */
  readonly kubeconfig?: string | undefined;
  /** Defaults to the current context of the kubeconfig. */
  readonly context?: string | undefined;
}

/** Throws `cluster-config-invalid` if the cluster cannot be determined. Does not connect. */
export async function openKubeClient(
  { kubeconfig, context }: KubeLocation,
  options: ClientOptions = {},
): Promise<KubeClient> {
  const connection =
    kubeconfig === undefined ? await inClusterConnection() : await readKubeconfig(kubeconfig, context);
  if (connection !== undefined) return kubeClient(connection, options);
  throw new ImagoError(
    'cluster-config-invalid',
    'There is no kubeconfig, and Imago does not run in a Kubernetes cluster.',
  );
}

/** Returns the cluster behind an API, which the caller closes. */
export function clusterOf(api: KubeApi, clock: Clock): Cluster {
  const context = { api, clock };
  return {
    version: async (call) => (await api.discover(call)).version,
    nodes: async (call) => (await api.list('nodes', call)).items,
    node: (name, call) => api.get('nodes', { name }, call),
    cordon: (name, owner, call) => cordon(api, name, owner, call),
    uncordon: (name, cordoned, call) => uncordon(api, name, cordoned, call),
    previewDrain: (name, rules) => previewDrain(context, name, rules),
    drain: (name, options) => drain(context, name, options),
    async markNode(name, { labels, annotations }, call) {
      await api.patch('nodes', { name }, { metadata: { labels, annotations } }, call);
    },
    deleteNode: (name, uid, call) => api.delete('nodes', { name }, { ...call, uid }),
    podsLeft: (name, rules) => podsLeft(context, name, rules),
  };
}
