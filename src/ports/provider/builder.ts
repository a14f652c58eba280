// Makes a sealed disk from a locked recipe.

import type { OutdatedPackage } from '../../domain/evidence/freshness.ts';
import type { Lock, LockedInput } from '../../domain/lock/lock.ts';
import type { BuildMethod, Recipe } from '../../domain/recipe/recipe.ts';
import type { Json } from '../../domain/value/json.ts';
import type { CallOptions } from './call.ts';

export interface BuildRequest {
  /** Of the lock; the same digest gives the same disk. */
  readonly lockDigest: string;
  readonly lock: Lock;
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
  /**
   * Of the build that made it: how long each step took that was not reused, in the order in which they ended, with
   * private inputs by their alias. Absent where the builder does not measure.
   */
  readonly timings?: readonly { readonly step: string; readonly ms: number }[];
}

export interface LockOptions extends CallOptions {
  /** The lock that is committed beside the recipe: what still fits the recipe is taken over. */
  readonly previous?: Lock | undefined;
  /** With `method: machine`: the version that the machine is started from. */
  readonly base?: LockedInput | undefined;
  /** `previous` must be the recipe's lock as it is; throws `lock-stale` otherwise, and sends no requests. */
  readonly exact?: boolean | undefined;
}

export interface BuildOptions extends CallOptions {
  /** Leaves what a failed build worked on, for a person to look at; the error's `details.shell` says how. */
  readonly keepFailed?: boolean | undefined;
}

export interface Builder {
  /** How it can build; recipes that want another way are refused before anything starts. */
  readonly methods: readonly BuildMethod[];
  /**
   * Resolves every input of the recipe to an exact version, sha256 and size. Reads from outside, writes
   * nothing but caches. The same recipe may give another lock tomorrow; a lock never changes.
   */
  lock(recipe: Recipe, progress: BuildProgress, options: LockOptions): Promise<Lock>;
  /**
   * Builds and seals. Finished layers and downloads are kept under their content's name, so a second call
   * resumes where the first stopped; two calls for one lock share the work.
   */
  build(request: BuildRequest, progress: BuildProgress, options: BuildOptions): Promise<SealedDisk>;
  /**
   * With the method `machine`: records that this disk was built from the lock, so that `find` returns it. A second call
   * changes nothing.
   */
  remember?(request: BuildRequest, disk: SealedDisk, options: CallOptions): Promise<void>;
  /** The sealed disk of this lock if it was built before and is whole. */
  find(lockDigest: string, options: CallOptions): Promise<SealedDisk | undefined>;
  /** What `lock` would answer, where it makes locks up and asks nobody: for dry runs. Makes no call, takes no time. */
  knownLock?(recipe: Recipe, base?: LockedInput): Lock;
  /** Absent where locks are only made up. */
  readonly tools?: BuilderTools;
}

/** What can be asked about recipes and locks. Nothing here builds. */
export interface BuilderTools {
  /** The lock with the newest of everything, whatever was locked before. */
  relock(
    recipe: Recipe,
    progress: BuildProgress,
    options: Pick<LockOptions, 'base' | keyof CallOptions>,
  ): Promise<Lock>;
  /** The content of an input of the lock, fetched again if the cache does not have it. */
  readInput(lock: Lock, input: LockedInput, options: CallOptions): AsyncIterable<Uint8Array>;
  /** The locks of a recipe's variants as one text, to be committed beside the recipe. */
  lockFile(recipe: Recipe, locks: readonly Lock[]): Promise<string>;
  /** `sets` as `COMPONENT=VERSION`: the lock with these inputs changed and no other. */
  hotfix(lock: Lock, sets: readonly string[], progress: BuildProgress, options: CallOptions): Promise<Lock>;
  /** Inputs of which there are newer versions. */
  outdated(lock: Lock, options: CallOptions): Promise<Outdated>;
  /**
   * Compares packages of a disk with the newest signed index of their archive. Throws `archive-untrusted` or
   * `download-failed`.
   */
  compareArchive(
    of: Pick<Recipe, 'base' | 'architecture'>,
    packages: readonly InstalledPackage[],
    options: CallOptions,
  ): Promise<ArchiveComparison>;
  /**
   * Adds to the text of a recipe what a version has that the one built from it has not. `diff` is that of the image
   * store.
   */
  absorb(request: AbsorbRequest, options: CallOptions): Promise<Absorbed>;
  /** Which layers a build of the lock would rebuild, and what changed since the image's last build. */
  whyRebuild(lock: Lock): Promise<readonly LayerPreview[]>;
  /**
   * What a build of the recipe would find here and have to do, from reading alone: nothing is written, no one is
   * asked. What only others know is assumed to have changed, and named in `unresolved`.
   */
  preview(recipe: Recipe, options: LockOptions): Promise<BuildPreview>;
  /** The same for a lock in which these inputs change. */
  previewHotfix(lock: Lock, sets: readonly string[]): Promise<BuildPreview>;
}

export interface BuildPreview {
  /** Of the lock that would be built, when all of it is known. */
  readonly lockDigest?: string;
  /** That lock itself. */
  readonly lock?: Lock;
  /** What must be asked for first: `packages`, names of components; private ones only as such. */
  readonly unresolved: readonly string[];
  /** Why something cannot be resolved or built as things are: a file that is not there, a disk that is too small. */
  readonly problems: readonly string[];
  /** What may go wrong, and is known only then: a disk that is hardly large enough. */
  readonly warnings?: readonly string[];
  readonly layers: readonly Pick<LayerPreview, 'name' | 'state' | 'snapshot'>[];
  /** Of what is resolved and not in the cache. */
  readonly downloads: { readonly count: number; readonly bytes: number };
  readonly estimate: {
    readonly ms: number;
    /** Whether each step that takes time was made here before; else part of it is guessed. */
    readonly fromHistory: boolean;
  };
}

export interface Outdated {
  readonly behind: readonly {
    readonly kind: string;
    readonly name: string;
    readonly current: string;
    readonly newest: string;
    /** Whether the recipe names it, or it only comes along. */
    readonly named: boolean;
  }[];
  /** Names that could not be looked up, and why. */
  readonly unknown: readonly { readonly name: string; readonly why: string }[];
  /** Names without a source of newer versions. */
  readonly unruled: readonly string[];
}

export interface InstalledPackage {
  readonly name: string;
  readonly version: string;
}

export interface ArchiveComparison {
  readonly suite: string;
  /** When the archive signed the index. */
  readonly indexedAt: string;
  /** Whether it has a part for security updates. */
  readonly hasSecurity: boolean;
  readonly behind: readonly OutdatedPackage[];
  /** Names that the archive does not have. */
  readonly unlisted: readonly string[];
}

export interface AbsorbRequest {
  /** Composed. */
  readonly recipe: Recipe;
  /** The file that is edited. */
  readonly text: string;
  readonly diff: Json;
  /** Names of packages, images, settings, and units, and paths of files, that are left out. */
  readonly skip: readonly string[];
  /** Files of the version that are short texts, by path. */
  texts(paths: readonly string[]): Promise<ReadonlyMap<string, string>>;
}

export interface Absorbed {
  readonly text: string;
  /** A sentence for each addition, and what only the lock says. */
  readonly changes: readonly string[];
  /** What a recipe cannot say. */
  readonly left: readonly string[];
}

export interface LayerPreview {
  readonly name: string;
  /** `hit` when the cache has it. */
  readonly state: 'hit' | 'miss';
  /** Of a step on a machine: the snapshot whose existence decides about the state. */
  readonly snapshot?: string;
  readonly changes: readonly { readonly input: string; readonly before: string; readonly after: string }[];
}
