// Pools of nodes made from one model: QEMU machines here, a scale set in Azure.
import type { Page, PageQuery } from './page.ts';
import type { CallOptions, ProvisioningError, ProvisioningState } from './provider.ts';

/** What new nodes are made from. Always an exact version, never a channel. */
export interface PoolModel {
  readonly image: string;
  readonly version: string;
  readonly digest: string;
  /** Machine size in the provider's words, e.g. `Standard_D4s_v5` or `2cpu-2g`. */
  readonly size: string;
  /** The node config document, as text; its secrets travel apart. */
  readonly nodeConfig: string;
  readonly tags: Readonly<Record<string, string>>;
}

export interface PoolSpec {
  readonly name: string;
  readonly region?: string;
  readonly orchestration: 'uniform' | 'flexible';
  readonly model: PoolModel;
  readonly capacity: number;
}

export interface ProviderPool {
  readonly name: string;
  readonly region?: string;
  readonly orchestration: 'uniform' | 'flexible';
  readonly model: PoolModel;
  /** How many nodes are wanted; someone else (an autoscaler) may change it. */
  readonly capacity: number;
  readonly state: ProvisioningState;
  /** Changes whenever model or capacity change: given back with a write, it refuses to overwrite others' work. */
  readonly etag: string;
  readonly error?: ProvisioningError;
}

export interface Protection {
  readonly fromScaleIn: boolean;
  /** Also from upgrade, reimage and repair that act on the whole pool. */
  readonly fromPoolActions: boolean;
}

export type NodePower = 'starting' | 'running' | 'stopping' | 'stopped';

export interface ProviderNode {
  readonly name: string;
  readonly pool: string;
  /** The machine's own id, which a clone does not share. */
  readonly machineId: string;
  readonly power: NodePower;
  readonly state: ProvisioningState;
  /** The exact version that its disk was made from. */
  readonly image: string;
  readonly version: string;
  readonly latestModelApplied: boolean;
  readonly protection: Protection;
  readonly createdAt: string;
  /** When its disk was last made from the image. */
  readonly imagedAt: string;
  readonly osDisk?: string;
  readonly zone?: string;
  readonly error?: ProvisioningError;
}

export interface WriteCondition {
  /** Refuse with `provider-conflict` when the pool has another etag by now. */
  readonly ifMatch?: string;
}

export interface Pools {
  /** Makes the pool and its nodes. The same spec again adopts it; another model or orchestration is a conflict. */
  createPool(spec: PoolSpec, options: CallOptions): Promise<void>;
  getPool(name: string, options: CallOptions): Promise<ProviderPool | undefined>;
  listPools(query: PageQuery, options: CallOptions): Promise<Page<ProviderPool>>;
  /** New nodes come from it; existing ones keep what they have and show `latestModelApplied: false`. */
  setModel(pool: string, model: PoolModel, condition: WriteCondition, options: CallOptions): Promise<void>;
  /** Starts scaling. Which nodes go on scale-in is the provider's choice, but never a protected one. */
  setCapacity(pool: string, capacity: number, condition: WriteCondition, options: CallOptions): Promise<void>;
  /** Starts the deletion of the pool and all its nodes. */
  deletePool(name: string, options: CallOptions): Promise<void>;

  getNode(pool: string, node: string, options: CallOptions): Promise<ProviderNode | undefined>;
  /** In the order of their names. */
  listNodes(pool: string, query: PageQuery, options: CallOptions): Promise<Page<ProviderNode>>;
  /** Stops and gives back the computer (deallocate); the disk stays. Stopping a stopped node changes nothing. */
  stopNode(pool: string, node: string, options: CallOptions): Promise<void>;
  startNode(pool: string, node: string, options: CallOptions): Promise<void>;
  /** A new disk from the pool's model, same name. Needs `abilities.reimage`. Not safe to repeat blindly: see `imagedAt`. */
  reimageNode(pool: string, node: string, options: CallOptions): Promise<void>;
  /** Needs `abilities.protect`. */
  protectNode(pool: string, node: string, protection: Protection, options: CallOptions): Promise<void>;
  /** Takes this very node away and lowers the capacity by one. */
  deleteNode(pool: string, node: string, options: CallOptions): Promise<void>;
}
