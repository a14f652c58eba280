// The patches of a Windows recipe: which of them count, and the order in which they go on. Cumulative updates hold all
// earlier ones of their build, so that of several only the newest is installed.
import { ImagoError } from '../error/imago-error.ts';
import type { RecipeWindows, WindowsPatch } from './recipe.ts';

/** Microsoft's order: the servicing stack, other updates, the cumulative one last, then that of .NET. */
const kindOrder = ['servicing-stack', 'update', 'checkpoint', 'cumulative', 'dotnet'] as const;
/** The first build whose updates can need a checkpoint beside them. */
const checkpointBuild = 26_100;

export interface PatchPlan {
  /** In the order in which they go on. */
  readonly install: readonly WindowsPatch[];
  /** Put beside the cumulative update, whose installer takes what it needs; never installed alone. */
  readonly beside: readonly WindowsPatch[];
  /** Not installed, because a newer one or the base has all that they bring. */
  readonly superseded: readonly { readonly patch: WindowsPatch; readonly by: string }[];
}

/** What of patches an error or a plan may say: private ones are not named. */
export function patchName({ kb, private: secret }: WindowsPatch): string {
  return secret === true ? 'a private patch' : kb;
}

function kindOf({ kind = 'cumulative' }: WindowsPatch): (typeof kindOrder)[number] {
  return kind;
}

interface Build {
  readonly build: number;
  readonly revision: number;
}

export function readBuild(text: string): Build {
  const [build = 0, revision = 0] = text.split('.').map(Number);
  return { build, revision };
}

/** What is wrong with them; `undefined` when there is a plan. */
export function patchProblem({ patches = [], base }: RecipeWindows): string | undefined {
  const known = new Set([...patches.map(({ kb }) => kb), ...(base?.updates ?? [])]);
  for (const patch of patches) {
    const { prerequisites = [], build } = patch;
    const missing = prerequisites.find((name) => !known.has(name));
    if (missing !== undefined) {
      return `${patch.kb} needs ${missing}, which is neither among the patches nor in \`windows.base.updates\``;
    }
    if (build === undefined || base === undefined) continue;
    if (readBuild(build).build !== readBuild(base.build).build) {
      return `${patch.kb} is for build ${readBuild(build).build}, and the base is ${base.build}`;
    }
  }
  return cumulativeProblem(patches, base) ?? circleProblem(patches, base?.updates ?? []);
}

function cumulativeProblem(
  patches: readonly WindowsPatch[],
  base: RecipeWindows['base'],
): string | undefined {
  const cumulative = patches.filter((patch) => kindOf(patch) === 'cumulative');
  const unclear = cumulative.find(({ build }) => build === undefined);
  if (cumulative.length > 1 && unclear !== undefined) {
    return `${unclear.kb} is one of ${cumulative.length} cumulative updates, of which only the newest counts: add its \`build\``;
  }
  const checkpoint = patches.find((patch) => kindOf(patch) === 'checkpoint');
  if (checkpoint === undefined) return undefined;
  if (cumulative.length === 0) {
    return `${checkpoint.kb} is a checkpoint, which is installed only with a cumulative update`;
  }
  const build = base === undefined ? undefined : readBuild(base.build).build;
  return build !== undefined && build < checkpointBuild
    ? `${checkpoint.kb} is a checkpoint, which build ${build} does not have`
    : undefined;
}

function circleProblem(patches: readonly WindowsPatch[], done: readonly string[]): string | undefined {
  const { stuck } = sortPatches(patches, done);
  if (stuck.length === 0) return undefined;
  return `${stuck.map(({ kb }) => kb).join(', ')} need each other, directly or not`;
}

/** Throws `recipe-invalid` for patches without a plan. */
export function planPatches(windows: RecipeWindows): PatchPlan {
  const problem = patchProblem(windows);
  if (problem !== undefined) throw new ImagoError('recipe-invalid', `${problem}.`);
  const { patches = [], base } = windows;
  const newest = patches
    .filter((patch) => kindOf(patch) === 'cumulative')
    .reduce<WindowsPatch | undefined>(
      (best, patch) => (best === undefined || revisionOf(patch) > revisionOf(best) ? patch : best),
      undefined,
    );
  const superseded = patches.flatMap((patch) => {
    const by = supersededBy(patch, newest, base);
    return by === undefined ? [] : [{ patch, by }];
  });
  const left = patches.filter((patch) => !superseded.some((one) => one.patch === patch));
  const gone = superseded.map(({ patch }) => patch.kb);
  const { sorted } = sortPatches(left, [...gone, ...(base?.updates ?? [])]);
  return {
    install: sorted.filter((patch) => kindOf(patch) !== 'checkpoint'),
    beside: sorted.filter((patch) => kindOf(patch) === 'checkpoint'),
    superseded,
  };
}

/** Build and revision of the system after the patches; `undefined` if the recipe does not say them. */
export function plannedBuild(windows: RecipeWindows): string | undefined {
  const builds = installedPatches(windows).flatMap((patch) =>
    kindOf(patch) === 'cumulative' && patch.build !== undefined ? [patch.build] : [],
  );
  return builds.at(-1) ?? windows.base?.build;
}

function revisionOf({ build = '0.0' }: WindowsPatch): number {
  return readBuild(build).revision;
}

function supersededBy(
  patch: WindowsPatch,
  newest: WindowsPatch | undefined,
  base: RecipeWindows['base'],
): string | undefined {
  if (base?.updates?.includes(patch.kb) === true) return 'the base';
  if (kindOf(patch) !== 'cumulative') return undefined;
  if (
    base !== undefined &&
    patch.build !== undefined &&
    revisionOf(patch) <= readBuild(base.build).revision
  ) {
    return `the base, which is ${base.build}`;
  }
  return newest === undefined || newest === patch ? undefined : patchName(newest);
}

/** Those that are installed. Locks of an earlier Imago can have patches without a plan: then all of them. */
export function installedPatches(windows: RecipeWindows): readonly WindowsPatch[] {
  return patchProblem(windows) === undefined
    ? planPatches(windows).install
    : orderPatches(windows.patches ?? []);
}

/** The patches in the order in which they go on: each after its prerequisites, else by kind, else as they are written. */
function orderPatches(patches: readonly WindowsPatch[]): readonly WindowsPatch[] {
  return sortPatches(
    patches,
    patches.flatMap(({ prerequisites = [] }) => prerequisites).filter(isNotIn(patches)),
  ).sorted;
}

function isNotIn(patches: readonly WindowsPatch[]) {
  return (name: string) => !patches.some(({ kb }) => kb === name);
}

function sortPatches(patches: readonly WindowsPatch[], before: readonly string[]) {
  const sorted: WindowsPatch[] = [];
  const done = new Set<string>(before);
  let left = [...patches].sort((a, b) => kindOrder.indexOf(kindOf(a)) - kindOrder.indexOf(kindOf(b)));
  for (;;) {
    const next = left.find(({ prerequisites = [] }) => prerequisites.every((name) => done.has(name)));
    if (next === undefined) return { sorted, stuck: left };
    sorted.push(next);
    done.add(next.kb);
    left = left.filter((patch) => patch !== next);
  }
}
