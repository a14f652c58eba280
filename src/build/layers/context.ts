// What making the layers of one build works with.
import type { Lock } from '../../domain/lock/lock.ts';
import type { ContentFolder } from '../content/content-folder.ts';
import type { Sandbox } from '../sandbox/sandbox.ts';
import type { LayerCache } from './cache.ts';
import type { PlannedLayer } from './plan.ts';
import type { TreeCache } from './tree-cache.ts';

export interface LayerContext {
  readonly lock: Lock;
  readonly plan: readonly PlannedLayer[];
  readonly cache: LayerCache;
  readonly trees: TreeCache;
  readonly inputs: ContentFolder;
  readonly sandbox: Sandbox;
  /** Whether folders can be laid over each other. */
  readonly overlay: () => Promise<boolean>;
  /** The build's own folder. */
  readonly folder: string;
  /** Seconds since 1970. */
  readonly startedAt: number;
  readonly signal?: AbortSignal | undefined;
  /** Fetches the inputs of a layer if they are missing: a damaged layer is made again. */
  readonly fetch: (layer: PlannedLayer) => Promise<void>;
  /** Reads the inputs of a layer again and fetches damaged ones again. Returns false if none was. */
  readonly refetch: (layer: PlannedLayer) => Promise<boolean>;
  readonly log: (layer: string, line: string) => void;
  /** Before a layer is looked at, and once it is there. */
  readonly onLayer: (layer: PlannedLayer, state: 'begun' | 'made' | 'reused') => void;
}
