// What making the layers of one build works with.
import type { Lock } from '../../domain/lock/lock.ts';
import type { InputCache } from '../inputs/input-cache.ts';
import type { Sandbox } from '../sandbox/sandbox.ts';
import type { LayerCache } from './cache.ts';
import type { PlannedLayer } from './plan.ts';
import type { TreeCache } from './tree-cache.ts';

export interface LayerContext {
  readonly lock: Lock;
  readonly plan: readonly PlannedLayer[];
  readonly cache: LayerCache;
  readonly trees: TreeCache;
  readonly inputs: InputCache;
  readonly sandbox: Sandbox;
  /** Whether folders can be laid over each other. */
  readonly overlay: () => Promise<boolean>;
  /** The build's own folder. */
  readonly folder: string;
  /** Seconds since 1970. */
  readonly startedAt: number;
  readonly signal?: AbortSignal | undefined;
  /** Brings what goes into a layer, should it not be there: a damaged layer is made anew. */
  readonly fetch: (layer: PlannedLayer) => Promise<void>;
  /** Reads all that goes into a layer again and brings what is damaged anew. False when nothing was. */
  readonly refetch: (layer: PlannedLayer) => Promise<boolean>;
  readonly log: (layer: string, line: string) => void;
  /** Before a layer is looked at, and once it is there. */
  readonly onLayer: (layer: PlannedLayer, state: 'begun' | 'made' | 'reused') => void;
}
