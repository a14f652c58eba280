// The clusters of pools, opened by name.
import type { ClusterRecord } from '../../domain/cluster/record.ts';
import type { KubeCall } from './api.ts';
import type { Cluster } from './cluster.ts';

/** How machines of this host join a cluster. */
export interface Joining {
  /** The address of the API server as the machines call it. */
  readonly server: string;
  /** The certificates of its authorities, in PEM. */
  readonly ca: string;
  /** Whether the credentials allow everything that is needed. */
  isAllowed(call: KubeCall): Promise<boolean>;
  /** Creates a bootstrap token for one node, valid for minutes. It replaces the node's earlier one. */
  makeToken(node: string, call?: KubeCall): Promise<string>;
  /** Deletes the node's token, if this process created one. A second call has no effect. */
  dropToken(node: string, call?: KubeCall): Promise<void>;
}

export interface PoolCluster extends Cluster {
  readonly name: string;
  /** Absent for a simulated cluster, and for one whose certificate is not verified. */
  readonly joining?: Joining;
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
