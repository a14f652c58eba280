// The clusters of pools, opened by name.
import type { ClusterRecord } from '../../domain/cluster/record.ts';
import type { KubeCall } from './api.ts';
import type { Cluster } from './cluster.ts';

export interface PoolCluster extends Cluster {
  readonly name: string;
  /** Returns the name of the Node object of a node: the kubelet registers it by its lower-case host name. */
  nodeName(node: { readonly name: string }): string;
}

/** How a cluster is reached. */
export type ClusterLocation = Pick<ClusterRecord, 'kubeconfig' | 'context'>;

export interface Clusters {
  /**
   * Connects, and returns what the cluster is. Throws `cluster-config-invalid`, `cluster-unreachable`,
   * `cluster-unauthorized`, `cluster-version-unsupported`, or `cluster-forbidden` with every right that is missing.
   */
  inspect(location: ClusterLocation, call: KubeCall): Promise<Pick<ClusterRecord, 'server' | 'uid'>>;
  /** Does not connect. A kubeconfig that changed since is read again. Throws `cluster-not-found`. */
  open(name: string): Promise<PoolCluster>;
}
