// Clusters that pools belong to, as they are recorded. Credentials stay in the kubeconfig, which only its path names.
import * as z from 'zod';
import { listOf, record, simulated, timestamp } from '../value/fields.ts';

export const clusterRecord = record('Cluster', 'A Kubernetes cluster that pools belong to.', {
  name: z.string(),
  kubeconfig: z
    .string()
    .optional()
    .describe(
      "Path of the kubeconfig on the daemon's host. Absent: the service account of the daemon's pod. Its content is never stored.",
    ),
  context: z.string().optional().describe('Context of the kubeconfig. Absent: the current one.'),
  server: z.string().optional().describe('Address of the API server when the cluster was registered.'),
  uid: z.string().describe('Identity of the cluster: the uid of its namespace kube-system.'),
  simulated,
  by: z.string(),
  at: timestamp,
});
export type ClusterRecord = z.output<typeof clusterRecord>;

const clusterNode = z.object({
  name: z.string(),
  ready: z.boolean(),
  schedulable: z.boolean(),
  version: z.string().describe('Version of its kubelet.'),
  pool: z.string().optional().describe('Pool of Imago, from its label `imago.dev/pool`.'),
});

export const clusterView = record('ClusterView', 'A cluster with its nodes.', {
  ...clusterRecord.shape,
  state: z.enum(['ready', 'unreachable']).describe('`unreachable`: see `trouble`.'),
  trouble: z.string().optional().describe('Why the cluster cannot be used.'),
  version: z.string().optional().describe('Version of the API server.'),
  nodes: listOf(clusterNode),
});
export type ClusterView = z.output<typeof clusterView>;

/** The cluster of simulated pools. It always exists, and is not stored. */
export const simCluster: ClusterRecord = {
  ...{ name: 'sim', uid: 'sim', simulated: true, by: 'imago', at: '1970-01-01T00:00:00.000Z' },
};

/** A verb on a resource, as Kubernetes checks it. */
export interface Right {
  readonly verb: string;
  readonly group: string;
  readonly resource: string;
  readonly subresource?: string;
}

/** What Imago does in a cluster. A cluster that does not allow all of it cannot be registered. */
export const neededRights: readonly Right[] = [
  ...['get', 'list', 'patch'].map((verb) => ({ verb, group: '', resource: 'nodes' })),
  ...['get', 'list'].map((verb) => ({ verb, group: '', resource: 'pods' })),
  { verb: 'create', group: '', resource: 'pods', subresource: 'eviction' },
  { verb: 'get', group: 'apps', resource: 'daemonsets' },
  { verb: 'list', group: 'policy', resource: 'poddisruptionbudgets' },
];

/** With these too, machines of this host join the cluster automatically, and the objects of deleted nodes are deleted. */
export const joinRights: readonly Right[] = [
  ...['create', 'delete'].map((verb) => ({ verb, group: '', resource: 'secrets' })),
  { verb: 'delete', group: '', resource: 'nodes' },
];

/** Returns the right as people write it: `create` of `pods/eviction`. */
export function describeRight({ verb, resource, subresource }: Right): string {
  return `${verb} of ${subresource === undefined ? resource : `${resource}/${subresource}`}`;
}
