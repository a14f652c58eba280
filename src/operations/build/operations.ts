// Builds a recipe: locks it, builds the disk, describes it, and seals it as a candidate with its own number. The same lock
// returns the same version: nothing is numbered twice (rules 5 and 11). A recipe with several versions is built by one
// operation for each, sequentially: they share all layers but the last ones.

import { baseOf } from '../../domain/build/machine-plan.ts';
import type { BuildInput, OneBuild } from '../../domain/build/operations.ts';
import * as declared from '../../domain/build/operations.ts';
import type { Lock } from '../../domain/lock/lock.ts';
import { whyVersion } from '../../domain/lock/reason.ts';
import { operationRequest, parseInput } from '../../domain/operation/declaration.ts';
import { isRestricted, type Recipe } from '../../domain/recipe/recipe.ts';
import { recordedRecipe } from '../../domain/recipe/request.ts';
import { plannedBuild } from '../../domain/recipe/windows.ts';
import { supportNotice } from '../../domain/recipe/windows-support.ts';
import { imageProduct } from '../../domain/support/support.ts';
import { canonicalJson } from '../../domain/value/canonical-json.ts';
import type { Builder, SealedDisk } from '../../ports/provider/builder.ts';
import { requireImages, requireRole, simulatedBy } from '../common/deps.ts';
import { type NamedStep, operation, type Reading, type Run } from '../common/operation.ts';
import { type CandidateFacts, comparedWith, type Sealed, sealStep, takeNumber } from '../image/candidate.ts';
import { type DescribedResult, recordsStep, type Subject, signStep } from '../image/describe.ts';
import { lockWith } from './base.ts';
import { isOnMachine, type MachineResults, machineSteps } from './machine-steps.ts';
import { notKept, planBuild, requireTools } from './plan.ts';
import { type FixedSubject, proveHotfix } from './verify-hotfix.ts';

interface Locked {
  readonly lock: Lock;
  readonly lockDigest: string;
  /** ISO time. */
  readonly at: string;
  /** How it differs from the given lock, if it does. */
  readonly lockChanges?: readonly string[];
}

interface Numbered {
  readonly version: string;
  /** ISO time. */
  readonly at: string;
  readonly reused: boolean;
  /** Why there is a new version, compared with the previous one. */
  readonly reason?: string;
  readonly why?: string;
  readonly changes?: readonly string[];
}

interface Results {
  readonly lock: Locked;
  readonly build: SealedDisk;
  readonly number: Numbered;
}
type BuildRun = Run<BuildInput, Results>;
type LockedRun = Run<BuildInput, Pick<Results, 'lock'>>;

const maxChanges = 50;
const isOne = ({ builds }: BuildInput) => builds === undefined;
const one = { when: isOne };
const hasSupport = ({ hotfix, recipe }: BuildInput) => hotfix !== undefined || recipe?.support !== undefined;

export const build = operation(declared.build, { plan: planBuild })
  .step('lock', {
    ...one,
    async do(run): Promise<Locked> {
      const previous = run.input.lock as Lock | undefined;
      const lock = await makeLock(run, previous);
      const at = new Date(run.clock.now()).toISOString();
      const notice = supportNotice(lock.recipe, at.slice(0, 10));
      if (notice !== undefined) run.log(notice);
      const hasTools = builderOf(run).tools !== undefined;
      const lockChanges = previous === undefined || !hasTools ? [] : changesOf(previous, lock);
      return {
        lock,
        ...(lockChanges.length > 0 && { lockChanges }),
        lockDigest: `sha256:${run.sha256(canonicalJson(lock))}`,
        at,
      };
    },
  })
  .step('build', {
    when: (input) => isOne(input) && !isOnMachine(input),
    async do(run): Promise<SealedDisk> {
      const { keepFailed } = run.input;
      return builderOf(run).build(run.result('lock'), run, { ...run.call, keepFailed });
    },
    verify: (run) => builderOf(run).find(run.result('lock').lockDigest, run.call),
  })
  .steps<MachineResults>(machineSteps)
  .step('number', {
    ...one,
    async do(run): Promise<Numbered> {
      const facts = factsOf(run);
      const known = await findBuilt(run);
      if (known !== undefined) return { version: known.version, at: known.createdAt, reused: true };
      const why = builderOf(run).tools && (await whyNew(run));
      for (const line of why === undefined ? [] : [why.why, ...why.changes]) run.log(line);
      const at = new Date(run.clock.now()).toISOString();
      return { version: await takeNumber(run, facts), at, reused: false, ...why };
    },
  })
  .use({ ...one, ...recordsStep(subject) })
  .step('prove', {
    when: ({ hotfix }) => hotfix !== undefined,
    do(run) {
      const fixed = fixedSubject(run);
      return fixed && proveHotfix(run, fixed);
    },
  })
  .use({ ...one, ...signStep(subject, { makeKey: true }) })
  .use({ ...one, ...sealStep(findBuilt, candidate) })
  .step('support', {
    when: (input) => isOne(input) && hasSupport(input),
    async do(run) {
      const { support } = run.lifecycle;
      const line = lineOf(run.result('seal'));
      const endsOn = lockOf(run).recipe.support?.until;
      const dates = await support.list();
      // A date that was set for the version since then stays.
      const isDated = dates.some((date) => date.product === imageProduct && date.line === line);
      if (endsOn === undefined || isDated) return { set: false };
      const note = 'from the recipe';
      await support.set({ product: imageProduct, line, endsOn, note, by: run.operation.by });
      return { set: true };
    },
    async undo(run) {
      const sealed = run.result('seal');
      if (!sealed.reused) await run.lifecycle.support.unset(imageProduct, lineOf(sealed), run.operation.by);
    },
  })
  .steps<{ readonly [name: `build-${string}`]: Sealed }>(({ builds = [] }) => [
    ...builds.map((input) => ({
      name: partName(input),
      child: () => operationRequest(declared.build, input),
    })),
    ...(builds.length === 0
      ? []
      : [matrixStep(({ input }: Run<BuildInput>) => (input.builds ?? []).map(({ recipe }) => recipe))]),
  ])
  .result((run) => {
    const { builds, image } = run.input;
    if (builds !== undefined) return { image, versions: builds.map((input) => run.result(partName(input))) };
    const { reason, why, changes } = run.result('number');
    const { lockChanges } = run.result('lock');
    return {
      ...run.result('seal'),
      ...simulatedBy(run, run.input.provider),
      ...(reason !== undefined && { reason, why, changes }),
      ...(lockChanges && { lockChanges }),
      ...run.maybe('prove'),
    };
  });

function partName({ recipe }: OneBuild): `build-${string}` {
  return `build-${recipe?.kubernetes}`;
}

/** Records the Kubernetes versions of the recipe, so that `prune` keeps a version of each. */
export function matrixStep<Input extends { readonly image?: string | undefined }>(
  recipesOf: (run: Run<Input>) => readonly ({ readonly kubernetes?: string | undefined } | undefined)[],
): NamedStep<'matrix', Input, unknown, null> {
  return {
    name: 'matrix',
    async do(run) {
      const versions = recipesOf(run).map((recipe) => recipe?.kubernetes ?? '');
      await run.catalogue.setMatrix(run.input.image ?? '', versions);
      return null;
    },
  };
}

function builderOf({ provider, input }: Reading<BuildInput>): Builder {
  return requireRole(provider(input.provider), 'builder');
}

async function makeLock(run: Run<BuildInput>, previous: Lock | undefined): Promise<Lock> {
  const builder = builderOf(run);
  const { hotfix, locked: exact = false, newest } = run.input;
  const recipe = run.input.recipe as Recipe;
  if (exact) requireTools(builder, run.provider(run.input.provider).name);
  if (hotfix !== undefined) return fixLock(run, hotfix);
  return lockWith(run, builder, { recipe, previous, exact, newest });
}

async function fixLock(
  run: Run<BuildInput>,
  { from, lockDigest, set, folder, roots }: NonNullable<BuildInput['hotfix']>,
): Promise<Lock> {
  const lock = await requireImages(run).locks.read(lockDigest);
  if (lock === undefined) throw notKept(from);
  const place = folder === undefined ? {} : { folder, ...(roots && { roots }) };
  const placed = { ...lock, recipe: { ...lock.recipe, ...place } };
  return requireTools(builderOf(run), 'here').hotfix(placed, set, run, run.call);
}

function changesOf(before: Lock, after: Lock): readonly string[] {
  const { changes } = whyVersion(before, after);
  return changes.slice(0, maxChanges).map(({ sentence }) => sentence);
}

/** `undefined` for the first version, and if the lock of the previous one is not stored. */
async function whyNew(run: LockedRun) {
  const { name, kubernetes } = factsOf(run);
  const before = await comparedWith(run, name, kubernetes, previousOf(run.input));
  if (before?.origin.kind !== 'built') return undefined;
  const old = await run.images?.locks.read(before.origin.lockDigest);
  if (old === undefined) return undefined;
  const { reason, sentence: why, changes } = whyVersion(old, lockOf(run));
  if (reason === undefined) return undefined;
  return { reason, why, changes: changes.slice(0, maxChanges).map(({ sentence }) => sentence) };
}

/** The version that it was changed from, or built on. */
function parentOf(changed: string | undefined, lock: Lock): { readonly parent?: string } {
  const base = baseOf(lock);
  const parent = changed ?? (base && `${base.name}:${base.version}`);
  return parent === undefined ? {} : { parent };
}

function findBuilt(run: LockedRun) {
  return run.catalogue.findVersionByLock(factsOf(run).name, run.result('lock').lockDigest);
}

async function candidate(run: Run<BuildInput, Results & { readonly records: DescribedResult }>) {
  const { recipe } = lockOf(run);
  const { source, hotfix } = run.input;
  return {
    facts: factsOf(run),
    version: run.result('number').version,
    disk: run.result('build'),
    origin: {
      ...{ kind: 'built' as const, lockDigest: run.result('lock').lockDigest },
      recipeDigest: `sha256:${run.sha256(canonicalJson(recipe))}`,
      ...parentOf(hotfix?.from, lockOf(run)),
      ...(source && { source }),
    },
    restricted: isRestricted(recipe) || run.result('records').restricted,
  };
}

/** Simulated disks are not in the store. */
function subject(run: BuildRun): Subject | undefined {
  if (builderOf(run).tools === undefined) return undefined;
  const { lockDigest, at: startedAt } = run.result('lock');
  const lock = lockOf(run);
  const { version, at: createdAt, reused } = run.result('number');
  const { digest, timings } = run.result('build');
  const { name: image, kubernetes } = factsOf(run);
  const { source } = run.input;
  return {
    ...{ image, version, digest, kubernetes, createdAt, startedAt, timings },
    ...{ previous: previousOf(run.input), lock, lockDigest, reused, source },
  };
}

function fixedSubject(run: BuildRun): FixedSubject | undefined {
  const { hotfix } = run.input;
  const found = hotfix && subject(run);
  if (hotfix === undefined || found?.previous === undefined) return undefined;
  const { image, digest, previous } = found;
  const { lockDigest, set } = hotfix;
  return { image, digest, previous, lockDigest, set, lock: lockOf(run) };
}

/** The number of the version that a hotfix changes. */
function previousOf({ hotfix }: OneBuild): string | undefined {
  return hotfix?.from.replace(/^.*:/, '');
}

function lockOf(run: LockedRun): Lock {
  return run.result('lock').lock;
}

function factsOf(run: LockedRun): CandidateFacts {
  const recipe = parseInput(recordedRecipe, lockOf(run).recipe);
  const { name, os, architecture, numbering, kubernetes } = recipe;
  const { bump, provider } = run.input;
  const system = plannedBuild(recipe.windows ?? {});
  return { name, os, architecture, numbering, kubernetes, system, bump, ...simulatedBy(run, provider) };
}

function lineOf({ image, version }: Sealed): string {
  return `${image}:${version}`;
}
