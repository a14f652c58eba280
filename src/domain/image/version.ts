// Images and their versions as they are recorded. A version's content never changes and its number is never
// used again (rule 5); only its state moves.
import type { NumberingPolicy } from './numbering.ts';
import type { RecipeCommit } from './recipe-commit.ts';
import { compareVersions } from './version-number.ts';
import type { RestorableState, VersionState } from './version-state.ts';

export const operatingSystems = ['linux', 'windows'] as const;
export type OperatingSystem = (typeof operatingSystems)[number];

export const architectures = ['x64', 'arm64'] as const;
export type Architecture = (typeof architectures)[number];

export interface ImageRecord {
  readonly name: string;
  readonly os: OperatingSystem;
  readonly architecture: Architecture;
  readonly numbering: NumberingPolicy;
  /** All its versions come from a simulation. Fixed with its first version. */
  readonly simulated?: true;
  readonly createdAt: string;
}

export type Origin =
  | {
      readonly kind: 'built';
      readonly lockDigest: string;
      readonly recipeDigest?: string;
      /** The version whose lock it was made from, with an input changed; absent when it was made from a recipe. */
      readonly parent?: string;
      /** Absent when nobody knew: no work tree, or a client that did not say. */
      readonly source?: RecipeCommit;
    }
  | { readonly kind: 'captured'; readonly node: string; readonly parent: string }
  | { readonly kind: 'imported'; readonly from: string };

export interface VersionRecord {
  readonly image: string;
  readonly version: string;
  readonly digest: string;
  readonly diskDigest: string;
  readonly sizeBytes: number;
  readonly state: VersionState;
  readonly origin: Origin;
  readonly kubernetes?: string;
  /** Made with private inputs: never reachable from a public channel, gallery or catalogue. */
  readonly restricted?: true;
  /** Made by a simulation: there is no disk. */
  readonly simulated?: true;
  /** Why it is deprecated or withdrawn. */
  readonly reason?: string;
  /** The state that a restore puts it back to; present while it is withdrawn. */
  readonly withdrawnFrom?: RestorableState;
  readonly operation: string;
  /** Later than that of every version that the image had before, whatever the clock says (`stampAfter`). */
  readonly createdAt: string;
}

type Aged = Pick<VersionRecord, 'version' | 'createdAt'>;

/**
 * Negative when `a` was made before `b`. Age, not number, decides what is newest: under the Kubernetes
 * policies 1.35.9 may be built long after 1.36.1, and the greater number says nothing.
 */
export function compareAge(a: Aged, b: Aged): number {
  return compareTimes(a.createdAt, b.createdAt) || compareVersions(a.version, b.version);
}

const usualTime = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;

/** Times in their usual form are in the order of their texts, and reading each of tens of thousands takes long. */
function compareTimes(a: string, b: string): number {
  if (!usualTime.test(a) || !usualTime.test(b)) return Date.parse(a) - Date.parse(b);
  return a < b ? -1 : Number(a > b);
}

/** The one made last; `undefined` when there is none. */
export function newestOf<T extends Aged>(versions: Iterable<T>): T | undefined {
  let newest: T | undefined;
  for (const version of versions) {
    if (newest === undefined || compareAge(version, newest) > 0) newest = version;
  }
  return newest;
}
