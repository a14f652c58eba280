// Pools and nodes as Imago remembers them. What a machine does now is the provider's to say; what it was
// created from is ours, and is retained permanently (rule 6).
import type { NodeRecord } from '../../domain/node/node.ts';
import type { PoolImage, PoolRecord } from '../../domain/pool/pool.ts';
import type { RolloutRecord } from '../../domain/rollout/record.ts';
import type { Page, PageQuery } from '../page.ts';

export type { NodeRecord } from '../../domain/node/node.ts';
export type { PoolRecord } from '../../domain/pool/pool.ts';

export interface Fleet {
  /**
   * `pool-exists` when the name is taken by a pool with other content; the same again changes nothing.
   * `version-withdrawn` if its version is withdrawn by now, and `cluster-not-found` if its cluster is removed, even if
   * that happens concurrently.
   */
  addPool(pool: Omit<PoolRecord, 'createdAt'>): Promise<PoolRecord>;
  getPool(name: string): Promise<PoolRecord | undefined>;
  listPools(query: PageQuery): Promise<Page<PoolRecord>>;
  /** Pools whose channel has moved since their model was made, by name. */
  listBehind(query: PageQuery): Promise<Page<PoolRecord>>;
  /** Pools that follow this channel for new nodes. */
  listFollowers(image: string, channel: string): Promise<readonly PoolRecord[]>;
  /**
   * `pool-not-found`. `version-withdrawn` as in `addPool`, unless the pool has that version already, or the change goes
   * `back`: an undo puts back what was there.
   */
  setPoolModel(name: string, model: PoolImage, options?: { readonly back?: boolean }): Promise<PoolRecord>;
  /** The pool's node config, in its stored form: secrets by their names. `pool-not-found`. */
  setPoolConfig(name: string, nodeConfig: string): Promise<PoolRecord>;
  /** `undefined`: it belongs to none. `pool-not-found`; `cluster-not-found`, also if it is removed concurrently. */
  setPoolCluster(name: string, cluster: string | undefined): Promise<PoolRecord>;
  /** Marks its nodes gone; node records stay. Unknown names are ignored. */
  removePool(name: string): Promise<void>;

  /** Records a rollout; another record of its operation is replaced. */
  putRollout(rollout: RolloutRecord): Promise<void>;
  /** Returns `undefined` if the rollout no longer runs: its record stays as it is. */
  pauseRollout(operation: string, paused: boolean): Promise<RolloutRecord | undefined>;
  /** The newest rollout of the pool. */
  lastRollout(pool: string): Promise<RolloutRecord | undefined>;
  /** The rollout that was rolled back from this digest in the pool, unless a later one of it succeeded. */
  findBadVersion(pool: string, digest: string): Promise<RolloutRecord | undefined>;

  /** Writes many in one transaction; a machine id that is known with the same `at` is left as it is. */
  recordNodes(nodes: readonly Omit<NodeRecord, 'goneAt' | 'schedulable'>[]): Promise<void>;
  /** Marks every live record of the pool whose machine id is not in `alive` as gone. */
  markGone(pool: string, alive: ReadonlySet<string>, at: string): Promise<void>;
  /** The live node of that name, or the last one that had it. */
  getNode(name: string): Promise<NodeRecord | undefined>;
  /** Live nodes by name, of one pool or of all. */
  listNodes(pool: string | undefined, query: PageQuery): Promise<Page<NodeRecord>>;
}
