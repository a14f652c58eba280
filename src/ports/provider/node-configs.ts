// The node config of single nodes while they run, and what their agents say about it.
import type { NodeReport } from '../../domain/node/report.ts';
import type { CallOptions } from './call.ts';

/** What may be done, for the config with that digest alone. */
export interface AllowedChange {
  readonly cost: 'restart' | 'drain';
  readonly digest: string;
}

/**
 * Where a provider has this role, the document that a node reads from instance metadata can be changed while the
 * node runs. Its disk, its power and its pool's model stay as they are. A new disk, or `upgradeNode`, gives the
 * node the document of the model again.
 */
export interface NodeConfigs {
  /** The text that the node reads now: its own, or the model's when it was never given one. */
  getUserData(pool: string, node: string, options: CallOptions): Promise<string>;
  /** Whether the node was given a text itself: it then keeps it until it gets a new disk, or `upgradeNode`. */
  hasOwnUserData(pool: string, node: string, options: CallOptions): Promise<boolean>;
  /**
   * Changes the text that the node reads; its agent notices automatically. The text that it has already changes
   * nothing. Also for a node that is stopped: it reads the text when it starts.
   */
  setUserData(pool: string, node: string, userData: string, options: CallOptions): Promise<void>;
  /**
   * Allows the node to apply its pending config: the caller has drained it, or accepts that services restart.
   * Nothing happens when it waits for another config, for a new disk, or for nothing; its report tells. A second call
   * changes nothing.
   */
  allowChange(pool: string, node: string, change: AllowedChange, options: CallOptions): Promise<void>;
  /** The last report of its last boot; `undefined` until the agent has spoken. */
  getReport(pool: string, node: string, options: CallOptions): Promise<NodeReport | undefined>;
}
