// Makes a sealed disk from a locked recipe.
import type { Json } from '../domain/json.ts';
import type { CallOptions } from './provider.ts';

export interface BuildRequest {
  /** Of the lock; the same digest gives the same disk. */
  readonly lockDigest: string;
  readonly lock: Json;
}

export interface BuildProgress {
  progress(done: number, total: number, sentence: string): void;
  log(line: string): void;
}

export interface SealedDisk {
  /** Of the version's manifest: what evidence, channels and nodes name. */
  readonly digest: string;
  /** sha256 of the raw disk without footer. */
  readonly diskDigest: string;
  readonly sizeBytes: number;
}

export interface Builder {
  /**
   * Resolves every input of the recipe to an exact version, sha256 and size. Reads from outside, writes
   * nothing but caches. The same recipe may give another lock tomorrow; a lock never changes.
   */
  lock(recipe: Json, progress: BuildProgress, options: CallOptions): Promise<Json>;
  /**
   * Builds and seals. Finished layers and downloads are kept under their content's name, so a second call
   * goes on where the first stopped; two calls for one lock share the work.
   */
  build(request: BuildRequest, progress: BuildProgress, options: CallOptions): Promise<SealedDisk>;
  /** The sealed disk of this lock if it was built before and is whole. */
  find(lockDigest: string, options: CallOptions): Promise<SealedDisk | undefined>;
}
