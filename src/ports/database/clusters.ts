// Registered clusters as they are stored. The simulated cluster is not among them.
import type { ClusterRecord } from '../../domain/cluster/record.ts';

export interface ClusterBook {
  /** By name. */
  list(): Promise<readonly ClusterRecord[]>;
  get(name: string): Promise<ClusterRecord | undefined>;
  /**
   * Records a cluster. The same again only updates how it is reached. Throws `cluster-exists` if the name is another
   * cluster's, or the cluster has another name.
   */
  add(cluster: Omit<ClusterRecord, 'at'>): Promise<ClusterRecord>;
  /** Throws `cluster-in-use` while pools belong to it. Returns `false` if there is none of that name. */
  remove(name: string): Promise<boolean>;
}
