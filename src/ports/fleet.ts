// Pools and nodes as Imago remembers them. What a machine does now is the provider's to say; what it was
// made from is ours, and is kept for ever (rule 6).
import type { Page, PageQuery } from './page.ts';
import type { ProviderName } from './provider.ts';

export interface PoolRecord {
  readonly name: string;
  readonly provider: ProviderName;
  readonly orchestration: 'uniform' | 'flexible';
  readonly region?: string;
  readonly size: string;
  /** What was asked for, e.g. `node:production`. */
  readonly reference: string;
  /** The channel that new nodes follow; absent when a version was given or the pool is pinned. */
  readonly follows?: string;
  readonly image: string;
  /** The exact version that the model holds, and the channel move that answered it. */
  readonly version: string;
  readonly digest: string;
  readonly move?: number;
  readonly nodeConfig: string;
  readonly createdAt: string;
}

/** What a node was made from, written when it is first seen and again when its disk is made anew. */
export interface NodeRecord {
  readonly name: string;
  readonly pool: string;
  readonly machineId: string;
  readonly image: string;
  readonly version: string;
  readonly digest: string;
  readonly reference: string;
  readonly channel?: string;
  readonly move?: number;
  /** When its disk was made from the image. */
  readonly at: string;
  readonly schedulable: boolean;
  /** Set when the node is gone; the record stays. */
  readonly goneAt?: string;
}

export interface Fleet {
  /** `pool-exists` when the name is taken by a pool with other content; the same again changes nothing. */
  addPool(pool: Omit<PoolRecord, 'createdAt'>): Promise<PoolRecord>;
  getPool(name: string): Promise<PoolRecord | undefined>;
  listPools(query: PageQuery): Promise<Page<PoolRecord>>;
  /** Pools that follow this channel for new nodes. */
  listFollowers(image: string, channel: string): Promise<readonly PoolRecord[]>;
  setPoolModel(
    name: string,
    model: Pick<PoolRecord, 'reference' | 'image' | 'version' | 'digest'> & {
      readonly follows?: string;
      readonly move?: number;
    },
  ): Promise<PoolRecord>;
  /** Marks its nodes gone; node records stay. Unknown names are ignored. */
  removePool(name: string): Promise<void>;

  /** Writes many at once; a machine id that is known with the same `at` is left as it is. */
  recordNodes(nodes: readonly Omit<NodeRecord, 'goneAt' | 'schedulable'>[]): Promise<void>;
  /** Marks every live record of the pool whose machine id is not in `alive` as gone. */
  markGone(pool: string, alive: ReadonlySet<string>, at: string): Promise<void>;
  /** The live node of that name, or the last one that had it. */
  getNode(name: string): Promise<NodeRecord | undefined>;
  /** Live nodes by name, of one pool or of all. */
  listNodes(pool: string | undefined, query: PageQuery): Promise<Page<NodeRecord>>;
}
