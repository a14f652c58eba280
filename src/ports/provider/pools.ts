// Pools of nodes made from one model: QEMU machines here, a scale set in Azure.
import type { Orchestration } from '../../domain/pool/pool.ts';
import type { OpenForward, PortForward } from '../../domain/pool/port-forward.ts';
import type { Page, PageQuery } from '../page.ts';
import type { CallOptions, ProvisioningError, ProvisioningState } from './call.ts';

export type { Orchestration } from '../../domain/pool/pool.ts';

/** What new nodes are made from. Always an exact version, never a channel. */
export interface PoolModel {
  /** The gallery that holds the image; absent: the provider's default one. */
  readonly gallery?: string;
  readonly image: string;
  readonly version: string;
  readonly digest: string;
  /** Provider-specific machine size, e.g. `Standard_D4s_v5` or `2cpu-2g`. */
  readonly size: string;
  /** The node config document, as text; its secrets travel apart. */
  readonly nodeConfig: string;
  readonly tags: Readonly<Record<string, string>>;
  /** Needs `abilities.forwards`. A change reaches a node when it starts next. */
  readonly forwards?: readonly PortForward[];
}

export interface PoolSpec {
  readonly name: string;
  readonly region?: string;
  /** Fixed once made. */
  readonly orchestration: Orchestration;
  readonly model: PoolModel;
  readonly capacity: number;
}

export interface ProviderPool {
  readonly name: string;
  readonly region?: string;
  readonly orchestration: Orchestration;
  readonly model: PoolModel;
  /** How many nodes are wanted; someone else (an autoscaler) may change it. */
  readonly capacity: number;
  /** Of the pool itself: a node that could not be made is `failed` and leaves the pool as it is. */
  readonly state: ProvisioningState;
  /** Changes whenever model or capacity change: given back with a write, it refuses to overwrite others' work. */
  readonly etag: string;
  readonly error?: ProvisioningError;
}

export interface Protection {
  readonly fromScaleIn: boolean;
  /** Also from upgrade, reimage and repair that act on the entire pool. Calls on this exact node still work. */
  readonly fromPoolActions: boolean;
}

export type NodePower = 'starting' | 'running' | 'stopping' | 'stopped';

/** What a machine's agent says through the provider; `unknown` until it has spoken, and when it has fallen silent. */
export type NodeHealth = 'unknown' | 'healthy' | 'unhealthy';

export interface ProviderNode {
  readonly name: string;
  readonly pool: string;
  /** The machine's own id, which a clone does not share. Stop, start and restart never change it. */
  readonly machineId: string;
  readonly power: NodePower;
  readonly state: ProvisioningState;
  /** The exact version that its disk was made from. */
  readonly image: string;
  readonly version: string;
  /** The digest that the model named when its disk was made, where the provider can still tell. */
  readonly digest?: string;
  /** Whether the node was made from, or brought to, what the model says now. */
  readonly latestModelApplied: boolean;
  readonly protection: Protection;
  readonly createdAt: string;
  /** When its disk was last made from the image. */
  readonly imagedAt: string;
  /** The disk that a snapshot is made of; absent when it cannot be captured (a disk that lives on the host). */
  readonly osDisk?: string;
  readonly zone?: string;
  /** While it runs, where `abilities.forwards`: the ports that lead to it. */
  readonly forwards?: readonly OpenForward[];
  /** In the network of its pool, while it runs and where the provider tells. */
  readonly address?: string;
  /** Absent when the provider carries no such word from the node. */
  readonly health?: NodeHealth;
  /** Why it is not healthy though it runs, in words, where the provider knows. */
  readonly trouble?: string;
  readonly error?: ProvisioningError;
}

export interface WriteCondition {
  /** Refuse with `provider-conflict` when the pool has another etag by now. */
  readonly ifMatch?: string;
}

export interface Pools {
  /**
   * Throws `input-invalid` if a node of that size cannot start from the image, without a call. Absent where sizes are
   * checked when the pool is made.
   */
  checkSize?(size: string, image: { readonly architecture: 'x64' | 'arm64' }): void;

  /**
   * Makes the pool and its nodes. The same spec again adopts it and leaves its capacity alone, which others
   * may have changed; another model, region or orchestration is a conflict. `provider-not-found` when the
   * gallery does not have the version, ready, in the pool's region.
   */
  createPool(spec: PoolSpec, options: CallOptions): Promise<void>;
  getPool(name: string, options: CallOptions): Promise<ProviderPool | undefined>;
  /** In the order of their names. */
  listPools(query: PageQuery, options: CallOptions): Promise<Page<ProviderPool>>;
  /**
   * New nodes come from it; existing ones keep what they have and show `latestModelApplied: false`. The model
   * that it has already changes nothing, whatever the condition. `provider-not-found` as for `createPool`.
   */
  setModel(pool: string, model: PoolModel, condition: WriteCondition, options: CallOptions): Promise<void>;
  /**
   * Starts scaling. The capacity that it has already changes nothing, whatever the condition. Which nodes go
   * on scale-in is the provider's choice, but never one that is protected from it: when too few others are
   * left it throws `provider-conflict` and takes none. A node that cannot be made, because the version is gone
   * from the gallery, becomes `failed` and counts.
   */
  setCapacity(pool: string, capacity: number, condition: WriteCondition, options: CallOptions): Promise<void>;
  /** Starts the deletion of the pool and all its nodes, protected ones too. */
  deletePool(name: string, options: CallOptions): Promise<void>;

  getNode(pool: string, node: string, options: CallOptions): Promise<ProviderNode | undefined>;
  /** In the order of their names. */
  listNodes(pool: string, query: PageQuery, options: CallOptions): Promise<Page<ProviderNode>>;
  /** Stops and releases the machine (deallocate); the disk stays. Stopping a stopped node changes nothing. */
  stopNode(pool: string, node: string, options: CallOptions): Promise<void>;
  /** Starting a running node changes nothing. */
  startNode(pool: string, node: string, options: CallOptions): Promise<void>;
  /**
   * A new disk from the pool's model, same name; the node runs afterwards. Needs `abilities.reimage` and a
   * uniform pool. Not safe to repeat blindly: see `imagedAt`. A node that cannot be reimaged becomes `failed`
   * and keeps its `imagedAt`.
   */
  reimageNode(pool: string, node: string, options: CallOptions): Promise<void>;
  /**
   * Brings the node to the pool's model: a new disk when the image differs, in place when only node config,
   * size or tags do. A node that has the latest model is left alone, so it is safe to repeat. Needs
   * `abilities.upgrade` and a uniform pool.
   */
  upgradeNode(pool: string, node: string, options: CallOptions): Promise<void>;
  /** Needs `abilities.protect`. */
  protectNode(pool: string, node: string, protection: Protection, options: CallOptions): Promise<void>;
  /**
   * Deletes this exact node, protected or not, and lowers the capacity by one immediately. Again, while it is
   * being deleted or when it is gone, changes nothing.
   */
  deleteNode(pool: string, node: string, options: CallOptions): Promise<void>;
}
