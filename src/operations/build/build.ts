// Build: lock the recipe, build the disk, make what comes with it, and seal it as a candidate with a number of its
// own. The same lock gives the same version back: nothing is numbered twice (rules 5 and 11).
import type { Lock } from '../../domain/lock/lock.ts';
import { whyVersion } from '../../domain/lock/reason.ts';
import { isRestricted, type Recipe } from '../../domain/recipe/recipe.ts';
import { canonicalJson } from '../../domain/value/canonical-json.ts';
import type { Json } from '../../domain/value/json.ts';
import type { Builder, SealedDisk } from '../../ports/provider/builder.ts';
import type { OperationKind, StepContext, WorkStep } from '../../ports/workflow/operation.ts';
import { parseInput } from '../../workflow/parse-input.ts';
import { requireResult } from '../../workflow/step-result.ts';
import { callOptions, type OperationDeps, requireImages, requireRole, simulatedBy } from '../common/deps.ts';
import {
  addCandidate,
  type CandidateFacts,
  comparedWith,
  dropCandidate,
  type Sealed,
  sealedResult,
  takeNumber,
} from '../image/candidate.ts';
import { type DescribedResult, recordsStep, type Subject, signStep } from '../image/describe.ts';
import { type BuildInput, buildInput, recipeFields } from './input.ts';
import { foreseeBuild, notKept, planBuild, requireTools } from './plan.ts';
import { supportStep } from './support-date.ts';
import { type FixedSubject, type Proof, proofStep } from './verify-hotfix.ts';

interface Locked {
  readonly lock: Lock;
  readonly lockDigest: string;
  /** ISO time. */
  readonly at: string;
  /** How it differs from the lock that was given, if it does. */
  readonly lockChanges?: readonly string[];
}

interface Numbered {
  readonly version: string;
  /** ISO time. */
  readonly at: string;
  readonly reused: boolean;
  /** Why there is a new version, against the one before. */
  readonly reason?: string;
  readonly why?: string;
  readonly changes?: readonly string[];
}

const mostChanges = 50;

export function buildOperation(deps: OperationDeps): OperationKind<BuildInput> {
  return {
    kind: 'build',
    parse: (input) => parseInput(buildInput, input),
    plan: (input) => planBuild(deps, input),
    foresee: (input) => foreseeBuild(deps, input),
    steps: ({ hotfix: fix, recipe }) => [
      lockStep(deps),
      buildStep(deps),
      numberStep(deps),
      recordsStep(deps, (context) => subject(deps, context)),
      ...(fix === undefined ? [] : [proofStep<BuildInput>(deps, (context) => fixedSubject(deps, context))]),
      signStep(deps, (context) => subject(deps, context), { makeKey: true }),
      sealStep(deps),
      ...(fix === undefined && recipe?.support === undefined ? [] : [supportStep(deps)]),
    ],
    result(context) {
      const { reason, why, changes } = context.result<Json & Numbered>('number') ?? ({} as Numbered);
      const { lockChanges } = locked(context);
      const proof: Proof | undefined = context.result<Json & Proof>('prove');
      return {
        ...requireResult<Sealed>(context, 'seal'),
        ...simulatedBy(deps, context.input.provider),
        ...(reason === undefined ? {} : { reason, why, changes }),
        ...(lockChanges && { lockChanges }),
        ...proof,
      };
    },
  };
}

function fixedSubject(deps: OperationDeps, context: StepContext<BuildInput>): FixedSubject | undefined {
  const { hotfix: fix } = context.input;
  const found = fix && subject(deps, context);
  if (fix === undefined || found?.previous === undefined) return undefined;
  const { image, digest, previous } = found;
  const { lockDigest, set } = fix;
  return { image, digest, previous, lockDigest, set, lock: locked(context).lock };
}

function builderOf(deps: OperationDeps, { input }: StepContext<BuildInput>): Builder {
  return requireRole(deps.provider(input.provider), 'builder');
}

function lockStep(deps: OperationDeps): WorkStep<BuildInput> {
  return {
    name: 'lock',
    async do(context) {
      const builder = builderOf(deps, context);
      const options = callOptions(deps, context.signal);
      const { recipe, hotfix: fix, locked: exact = false } = context.input;
      if (exact) requireTools(builder, deps.provider(context.input.provider).name);
      const previous = context.input.lock as Lock | undefined;
      const lock =
        fix !== undefined
          ? await fixLock(deps, builder, fix, context)
          : context.input.newest === true && builder.tools !== undefined
            ? await builder.tools.relock(recipe as Recipe, context, options)
            : await builder.lock(recipe as Recipe, context, { ...options, previous, exact });
      const moved = builder.tools === undefined || previous === undefined ? [] : changesOf(previous, lock);
      return {
        lock,
        ...(moved.length > 0 && { lockChanges: moved }),
        lockDigest: `sha256:${deps.sha256(canonicalJson(lock))}`,
        at: new Date(context.clock.now()).toISOString(),
      };
    },
  };
}

function changesOf(before: Lock, after: Lock): readonly string[] {
  const { changes } = whyVersion(before, after);
  return changes.slice(0, mostChanges).map(({ sentence }) => sentence);
}

async function fixLock(
  deps: OperationDeps,
  builder: Builder,
  { from, lockDigest, set, folder, roots }: NonNullable<BuildInput['hotfix']>,
  context: StepContext<BuildInput>,
): Promise<Lock> {
  const lock = await requireImages(deps).locks.read(lockDigest);
  if (lock === undefined) throw notKept(from);
  const place = folder === undefined ? {} : { folder, ...(roots && { roots }) };
  const placed = { ...lock, recipe: { ...lock.recipe, ...place } };
  const tools = requireTools(builder, 'here');
  return tools.hotfix(placed, set, context, callOptions(deps, context.signal));
}

function buildStep(deps: OperationDeps): WorkStep<BuildInput> {
  return {
    name: 'build',
    async do(context) {
      const { keepFailed } = context.input;
      const options = { ...callOptions(deps, context.signal), keepFailed };
      return { ...(await builderOf(deps, context).build(locked(context), context, options)) };
    },
    async verify(context) {
      const { lockDigest } = locked(context);
      const found = await builderOf(deps, context).find(lockDigest, callOptions(deps, context.signal));
      return found && { ...found };
    },
  };
}

function numberStep(deps: OperationDeps): WorkStep<BuildInput> {
  return {
    name: 'number',
    async do(context) {
      const { lock, lockDigest } = locked(context);
      const facts = factsOf(deps, context);
      const at = new Date(context.clock.now()).toISOString();
      const known = await deps.catalogue.findVersionByLock(facts.name, lockDigest);
      if (known !== undefined) return { version: known.version, at: known.createdAt, reused: true };
      const isReal = builderOf(deps, context).tools !== undefined;
      const why = isReal ? await whyNew(deps, context, lock) : undefined;
      for (const line of [...(why === undefined ? [] : [why.sentence]), ...(why?.changes ?? [])])
        context.log(line);
      return {
        version: await takeNumber(deps, context, facts),
        at,
        reused: false,
        ...(why && { reason: why.reason, why: why.sentence, changes: why.changes }),
      };
    },
  };
}

interface Why {
  readonly reason: string;
  readonly sentence: string;
  readonly changes: readonly string[];
}

/** `undefined` for the first version, and when the lock of the one before is not here. */
async function whyNew(
  deps: OperationDeps,
  context: StepContext<BuildInput>,
  lock: Lock,
): Promise<Why | undefined> {
  const { name, kubernetes } = factsOf(deps, context);
  const before = await comparedWith(deps, name, kubernetes, madeFrom(context));
  if (before?.origin.kind !== 'built' || deps.images === undefined) return undefined;
  const old = await deps.images.locks.read(before.origin.lockDigest);
  if (old === undefined) return undefined;
  const { reason, sentence, changes } = whyVersion(old, lock);
  if (reason === undefined) return undefined;
  return { reason, sentence, changes: changes.slice(0, mostChanges).map((change) => change.sentence) };
}

function sealStep(deps: OperationDeps): WorkStep<BuildInput> {
  const { catalogue } = deps;
  const find = (context: StepContext<BuildInput>) =>
    catalogue.findVersionByLock(factsOf(deps, context).name, locked(context).lockDigest);
  return {
    name: 'seal',
    async do(context) {
      const facts = factsOf(deps, context);
      const { lock, lockDigest } = locked(context);
      const { recipe } = lock;
      const { source, hotfix } = context.input;
      const added = await addCandidate(deps, context, {
        facts,
        version:
          context.result<Json & Numbered>('number')?.version ?? (await takeNumber(deps, context, facts)),
        disk: requireResult<SealedDisk>(context, 'build'),
        origin: {
          kind: 'built',
          lockDigest,
          recipeDigest: `sha256:${deps.sha256(canonicalJson(recipe))}`,
          ...(hotfix && { parent: hotfix.from }),
          ...(source && { source }),
        },
        restricted:
          isRestricted(recipe) || context.result<Json & DescribedResult>('records')?.restricted === true,
      });
      return sealedResult(added, context.operation.id);
    },
    async verify(context) {
      const found = await find(context);
      return found && sealedResult(found, context.operation.id);
    },
    async undo(context) {
      await dropCandidate(deps, context, await find(context));
      return undefined;
    },
  };
}

/** Simulated disks are in no store. */
function subject(deps: OperationDeps, context: StepContext<BuildInput>): Subject | undefined {
  if (builderOf(deps, context).tools === undefined) return undefined;
  const { lock, lockDigest, at: startedAt } = locked(context);
  const { version, at: createdAt, reused } = requireResult<Numbered>(context, 'number');
  const { digest, timings } = requireResult<SealedDisk>(context, 'build');
  const { name: image, kubernetes } = factsOf(deps, context);
  const previous = madeFrom(context);
  return {
    ...{ image, version, digest, kubernetes, createdAt, startedAt, timings },
    ...{ previous, lock, lockDigest, reused, source: context.input.source },
  };
}

/** The number of the version that a hotfix changes. */
function madeFrom({ input }: StepContext<BuildInput>): string | undefined {
  return input.hotfix?.from.replace(/^.*:/, '');
}

function factsOf(deps: OperationDeps, context: StepContext<BuildInput>): CandidateFacts {
  const { recipe } = locked(context).lock;
  const { name, os, architecture, numbering, kubernetes } = parseInput(recipeFields, recipe);
  const { bump, provider } = context.input;
  return { name, os, architecture, numbering, kubernetes, bump, ...simulatedBy(deps, provider) };
}

function locked(context: StepContext<BuildInput>): Locked {
  return requireResult<Locked>(context, 'lock');
}
