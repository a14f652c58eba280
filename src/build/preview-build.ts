// What a build would find here and have to do, from reading alone: for dry runs. What only others know (a newer
// package, a file at an address) is assumed to have changed, and named.
import { ensureImagoError } from '../domain/error/imago-error.ts';
import { assumedSource, type Lock, type LockedInput, makeLock } from '../domain/lock/lock.ts';
import { checkRecipe } from '../domain/recipe/problems.ts';
import type { Recipe } from '../domain/recipe/recipe.ts';
import { expandOne } from '../domain/recipe/variables.ts';
import type { BuildPreview, BuildProgress } from '../ports/provider/builder.ts';
import { type BuildContext, lockContext } from './builder-context.ts';
import { measuringFolder } from './content/measuring-folder.ts';
import { requireRoom, tightRoom } from './disk-size.ts';
import { planLayers } from './layers/plan.ts';
import { refuseCoveredFiles } from './lock/covered-files.ts';
import { requireFixable } from './lock/hotfix.ts';
import { lockDigest } from './lock/lock-file.ts';
import { type LockPart, lockParts } from './lock/parts.ts';
import { buildEpoch, buildRules } from './lock/rules.ts';
import { neededInputs } from './needed-inputs.ts';
import { createRedactor } from './redactor.ts';
import { expectSteps, readHistory } from './step-times.ts';

const silent: BuildProgress = { progress() {}, log() {} };

/** Writes nothing and uses no network. Throws `recipe-invalid` as locking would. */
export async function previewRecipeBuild(
  context: BuildContext,
  recipe: Recipe,
  previous: Lock | undefined,
  signal?: AbortSignal,
  base?: LockedInput,
): Promise<BuildPreview> {
  const whole = expandOne(recipe);
  checkRecipe(whole);
  const looking = { ...context, inputs: measuringFolder(context.inputs) };
  const found: LockedInput[] = [];
  const unresolved: string[] = [];
  const problems: string[] = [];
  const locking = lockContext(looking, recipe, silent, signal, base);
  for (const part of lockParts(whole, locking, previous)) {
    signal?.throwIfAborted();
    const known = part.kept ?? (part.local ? await resolveHere(part, problems) : undefined);
    if (known === undefined && !part.local) unresolved.push(part.what.replace(/^resolving /, ''));
    found.push(...(known ?? part.assume()));
  }
  if (problems.length === 0) await refuseCoveredFiles(whole, found, locking);
  const lock = makeLock(recipe, found, { rules: buildRules, epoch: buildEpoch });
  const { hide } = createRedactor({ recipe, inputs: [] });
  const isKnown = unresolved.length + problems.length === 0;
  const room = roomFor(lock, isKnown);
  return {
    ...(isKnown && { lockDigest: lockDigest(lock), lock }),
    ...{ unresolved, problems: [...problems.map(hide), ...room.problems], warnings: room.warnings },
    ...(await previewLock(looking, lock)),
  };
}

/** As long as something is to be resolved, what is known of the rest may still change for the better. */
function roomFor(lock: Lock, isKnown: boolean): Required<Pick<BuildPreview, 'problems' | 'warnings'>> {
  const warning = tightRoom(lock);
  if (warning === undefined) return { problems: [], warnings: [] };
  if (isKnown) {
    try {
      requireRoom(lock);
    } catch (thrown) {
      return { problems: [ensureImagoError(thrown).message], warnings: [] };
    }
  }
  return { problems: [], warnings: [warning] };
}

/** What is missing beside the recipe would fail the build, not its preview. */
async function resolveHere(part: LockPart, problems: string[]): Promise<readonly LockedInput[] | undefined> {
  try {
    return await part.resolve();
  } catch (thrown) {
    const error = ensureImagoError(thrown);
    if (error.kind === 'bug' || error.kind === 'cancelled') throw thrown;
    problems.push(error.message);
    return undefined;
  }
}

/** The lock of a shipped version with other content in place of what is set. Throws what the hotfix itself would. */
export async function previewHotfix(
  context: BuildContext,
  lock: Lock,
  names: readonly string[],
): Promise<BuildPreview> {
  for (const name of names) requireFixable(lock, name);
  const packages = expandOne(lock.recipe).components.flatMap(({ name, from }) =>
    names.includes(name) && from !== undefined && 'package' in from ? [from.package] : [],
  );
  const set = new Set([...names, ...packages]);
  const inputs = lock.inputs.map((input) =>
    set.has(input.name) ? { ...input, sha256: '0'.repeat(64), source: assumedSource } : input,
  );
  const looking = { ...context, inputs: measuringFolder(context.inputs) };
  const { warnings } = roomFor(lock, false);
  return {
    unresolved: [...names],
    problems: [],
    warnings,
    ...(await previewLock(looking, { ...lock, inputs })),
  };
}

async function previewLock(
  context: BuildContext,
  lock: Lock,
): Promise<Pick<BuildPreview, 'layers' | 'downloads' | 'estimate'>> {
  const plan = planLayers(lock);
  const steps = await expectSteps(context, plan, await readHistory(context));
  const { hide } = createRedactor(lock);
  const downloads: LockedInput[] = [];
  for (const input of await neededInputs(context, lock, plan)) {
    if (isElsewhere(input) && (await context.inputs.find(input.sha256)) === undefined) downloads.push(input);
  }
  const assumes = lock.inputs.some(({ source }) => source === assumedSource);
  const fetches = downloads.length > 0 || assumes;
  const counted = [...steps].filter(([name]) => fetches || name !== 'inputs').map(([, step]) => step);
  return {
    layers: plan.map(({ name, snapshot }) => ({
      ...(snapshot && { snapshot }),
      name: hide(name),
      state: steps.get(name)?.by === 'cache' ? ('hit' as const) : ('miss' as const),
    })),
    downloads: {
      count: downloads.length,
      bytes: downloads.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0),
    },
    estimate: {
      ms: counted.reduce((sum, { ms }) => sum + ms, 0),
      fromHistory: counted.every(({ by }) => by !== 'guess'),
    },
  };
}

function isElsewhere({ source }: LockedInput): boolean {
  return /^(?:https?|(?:debian|apt)(?:-security)?|oci):|^archive:https?:/.test(source);
}
