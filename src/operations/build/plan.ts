// Plans a build: which provider can do it, and, for a dry run, what is cached, what must be downloaded and built, and
// about how long that takes.
import { type BuildInput, imageOfBuild, type OneBuild } from '../../domain/build/operations.ts';
import { ImagoError } from '../../domain/error/imago-error.ts';
import type { Lock } from '../../domain/lock/lock.ts';
import { whyVersion } from '../../domain/lock/reason.ts';
import type { Recipe } from '../../domain/recipe/recipe.ts';
import { plannedBuild } from '../../domain/recipe/windows.ts';
import { formatBytes } from '../../domain/value/bytes.ts';
import { canonicalJson } from '../../domain/value/canonical-json.ts';
import { formatDuration } from '../../domain/value/duration.ts';
import type { Json } from '../../domain/value/json.ts';
import type { VersionRecord } from '../../ports/database/catalog.ts';
import type { Builder, BuildPreview } from '../../ports/provider/builder.ts';
import type { Provider } from '../../ports/provider/provider.ts';
import { type OperationDeps, requireImages, requireRole, simulatedBy } from '../common/deps.ts';
import { describeFailure } from '../common/describe-failure.ts';
import type { Reading } from '../common/operation.ts';
import { comparedWith, previewNumber, requireLine, requireNumbering } from '../image/candidate.ts';
import { resolveBase } from './base.ts';
import { withSnapshots } from './machine.ts';

/** How many changes are listed one by one. */
const maxChanges = 20;

/** Throws what the build would be refused with. */
export async function planBuild(run: Reading<BuildInput>, preview: boolean): Promise<readonly string[]> {
  const { builds } = run.input;
  const lines: string[] = [];
  for (const one of builds ?? [run.input]) {
    await requireBuildable(run, one);
    const { lock, build } = await planParts(run, one, preview);
    const prefix = builds === undefined ? '' : `Kubernetes ${one.recipe?.kubernetes}: `;
    lines.push(...[...lock, ...build].map((line) => `${prefix}${line}`));
  }
  return lines;
}

/** Throws if the provider cannot build it, or the image has versions of the other kind. */
export async function requireBuildable(run: Reading, input: OneBuild): Promise<void> {
  const { recipe, hotfix, provider, locked } = input;
  const found = run.provider(provider);
  const builder = requireRole(found, 'builder');
  if (recipe !== undefined) requireMethod(run, found, builder, recipe);
  if (locked === true || hotfix !== undefined) requireTools(builder, found.name);
  await requireLine(run, imageOfBuild(input), simulatedBy(run, provider).simulated);
  if (input.recipe !== undefined) await requireNumbering(run, input.recipe);
}

export interface PlannedBuild {
  /** One sentence each. */
  readonly lock: readonly string[];
  readonly build: readonly string[];
  /** The version of the same lock: it is returned, and nothing is built. */
  readonly known?: VersionRecord;
}

/** The plan by steps. A preview reads the caches. */
export async function planParts(run: Reading, input: OneBuild, preview: boolean): Promise<PlannedBuild> {
  const builder = requireRole(run.provider(input.provider), 'builder');
  const forecast = preview ? await forecastOf(run, builder, input) : undefined;
  const first = firstLines(input);
  const digest = forecast === undefined ? await knownDigest(run, builder, input) : forecast.lockDigest;
  const image = imageOfBuild(input);
  const known = digest === undefined ? undefined : await run.catalogue.findVersionByLock(image, digest);
  if (known !== undefined) {
    return { lock: first, build: [`Nothing more: ${image}:${known.version} has this lock.`], known };
  }
  const last = [...lastLines(input, builder), ...(await describeFailure(() => sealLines(run, input)))];
  if (forecast === undefined) return { lock: first, build: [...wayLines(input), ...last] };
  return {
    lock: [...first, ...inputLines(forecast), ...(await changeLines(run, input, forecast))],
    build: [...layerLines(forecast), ...last],
  };
}

async function knownDigest(
  deps: OperationDeps,
  { knownLock }: Builder,
  { recipe, lock }: OneBuild,
): Promise<string | undefined> {
  if (recipe === undefined || knownLock === undefined) return undefined;
  const base = await resolveBase(deps, recipe as Recipe, lock as Lock | undefined);
  return `sha256:${deps.sha256(canonicalJson(knownLock(recipe as Recipe, base)))}`;
}

/** What differs from the previous version, if both locks are known. */
async function changeLines(
  deps: OperationDeps,
  input: OneBuild,
  { lock }: BuildPreview,
): Promise<readonly string[]> {
  if (lock === undefined || input.recipe === undefined) return [];
  const before = await comparedWith(deps, imageOfBuild(input), input.recipe.kubernetes, undefined);
  if (before?.origin.kind !== 'built') return [];
  const old = await deps.images?.locks.read(before.origin.lockDigest);
  if (old === undefined) return [];
  const { changes } = whyVersion(old, lock);
  const sentences = changes.map(({ sentence }) => sentence);
  const more = sentences.length - maxChanges;
  return [
    `Against ${before.image}:${before.version}: ${sentences.slice(0, maxChanges).join('; ')}${more > 0 ? `; and ${more} more` : ''}.`,
  ];
}

type BuildableRecipe = Pick<Recipe, 'name'> & { readonly [Key in 'method' | 'os']?: Recipe[Key] | undefined };

/** Throws `provider-lacks` if the provider does not have the method; the hint names one that does. */
function requireMethod(
  deps: OperationDeps,
  provider: Provider,
  builder: Builder,
  recipe: BuildableRecipe,
): void {
  const { name, method = 'assemble' } = recipe;
  if (builder.methods.includes(method)) {
    requireSystem(provider, recipe);
    return;
  }
  const able = deps
    .providers()
    .find((other) => other.builder?.tools !== undefined && other.builder.methods.includes(method));
  throw new ImagoError(
    'provider-lacks',
    method === 'machine'
      ? `${name} is built on a machine, and provider ${provider.name} only assembles disks.`
      : `${name} is assembled, and provider ${provider.name} only builds on machines.`,
    {
      hint:
        able === undefined
          ? 'No available provider builds it. The recipe can be checked, shown and locked.'
          : `Name one that does: --provider ${able.name}.`,
    },
  );
}

/** Throws `provider-lacks` if the provider has no machines with the operating system of the recipe. */
function requireSystem({ name, abilities }: Provider, recipe: BuildableRecipe): void {
  if (recipe.os !== 'windows' || abilities.windows === true) return;
  throw new ImagoError(
    'provider-lacks',
    `${recipe.name} is built on Windows, and provider ${name} has no Windows machines.`,
    { hint: 'The recipe can be checked, shown and locked. See docs/windows.md for what builds it.' },
  );
}

function inputLines({ unresolved, problems, warnings = [] }: BuildPreview): readonly string[] {
  return [
    unresolved.length === 0
      ? 'All inputs are resolved.'
      : `Resolve ${unresolved.join(', ')}; the rest assumes that they changed.`,
    ...problems.map((problem) => `This would fail: ${problem}`),
    ...warnings,
  ];
}

function layerLines({ unresolved, layers, downloads, estimate }: BuildPreview): readonly string[] {
  const { count, bytes } = downloads;
  const fetched =
    count === 0 ? 'nothing' : `${count} ${count === 1 ? 'input' : 'inputs'}, ${formatBytes(bytes)}`;
  const open = unresolved.length === 0 ? '' : ', and what is resolved again';
  const basis = estimate.fromHistory ? 'as long as such steps took before' : 'partly a guess';
  return [
    `Download ${fetched}${open}.`,
    ...layers.map(({ name, state }) => `Layer ${name}: ${state}.`),
    `Build the disk, in about ${formatDuration(estimate.ms)} (${basis}).`,
  ];
}

function wayLines({ recipe }: OneBuild): readonly string[] {
  if (recipe?.method !== 'machine') return ['Build the disk, layer by layer.'];
  const { base, steps = [] } = recipe as Partial<Recipe>;
  return [
    `Start a machine from ${base?.image}, and run ${steps.map(({ name }) => name).join(', ') || 'no steps'}.`,
    'Stop it, clean and scan its disk, and delete it.',
  ];
}

export function requireTools(builder: Builder, provider: string): NonNullable<Builder['tools']> {
  if (builder.tools !== undefined) return builder.tools;
  throw new ImagoError('provider-lacks', `Provider ${provider} only simulates locks.`, {
    hint: 'Name one that builds real disks: --provider local.',
  });
}

function firstLines({ recipe, hotfix }: OneBuild): readonly string[] {
  if (hotfix === undefined) return [`Lock recipe ${recipe?.name}.`];
  return [`Use the lock of ${hotfix.from} and set ${hotfix.set.join(', ')}; everything else stays.`];
}

function lastLines(input: OneBuild, builder: Builder): readonly string[] {
  const isReal = builder.tools !== undefined;
  return [
    ...(isReal ? ['Write notes and SBOMs from the sealed disk, and sign it.'] : []),
    ...(isReal && input.hotfix !== undefined ? ['Prove that nothing else changed, or fail.'] : []),
  ];
}

/** Includes the number that the version gets if nothing else is built before it. */
async function sealLines(
  deps: OperationDeps,
  { recipe, bump, ...input }: OneBuild,
): Promise<readonly string[]> {
  if (recipe === undefined) return [`Seal it as a candidate of ${imageOfBuild(input)}.`];
  return [
    `Seal it as a candidate: ${recipe.name}:${await previewNumber(deps, { ...recipe, system: plannedBuild(recipe.windows ?? {}), bump })}.`,
  ];
}

/** `undefined` if the provider only simulates locks. */
async function forecastOf(
  deps: Reading,
  { tools }: Builder,
  input: OneBuild,
): Promise<BuildPreview | undefined> {
  const { recipe, hotfix, lock, newest, locked } = input;
  if (tools === undefined) return undefined;
  if (hotfix !== undefined) {
    const shipped = await requireImages(deps).locks.read(hotfix.lockDigest);
    if (shipped === undefined) throw notKept(hotfix.from);
    return tools.previewHotfix(shipped, hotfix.set);
  }
  const previous = lock as Lock | undefined;
  const base = await resolveBase(deps, recipe as Recipe, newest === true ? undefined : previous);
  const preview = await tools.preview(recipe as Recipe, { ...deps.call, previous, base });
  const layers = await withSnapshots(deps.provider(input.provider), preview.layers, deps.call);
  const found = { ...preview, layers };
  if (locked === true && found.lockDigest !== digestOf(deps, lock as Json | undefined))
    return { ...found, problems: [...found.problems, 'The lock does not match the recipe.'] };
  if (newest !== true) return found;
  const { lockDigest: _, lock: __, ...rest } = found;
  return { ...rest, unresolved: ['the newest version of every input'] };
}

function digestOf({ sha256 }: OperationDeps, lock: Json | undefined): string | undefined {
  return lock === undefined ? '' : `sha256:${sha256(canonicalJson(lock))}`;
}

export function notKept(from: string): ImagoError {
  return new ImagoError('lock-not-kept', `The lock of ${from} is not in the store.`);
}
