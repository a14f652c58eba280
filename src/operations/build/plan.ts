// What is said about a build before it begins: who cannot do it, what is at hand, what must be fetched and made, and
// about how long that takes.

import { ImagoError } from '../../domain/error/imago-error.ts';
import type { Lock } from '../../domain/lock/lock.ts';
import { whyVersion } from '../../domain/lock/reason.ts';
import type { BuildMethod, Recipe } from '../../domain/recipe/recipe.ts';
import { formatBytes } from '../../domain/value/bytes.ts';
import { canonicalJson } from '../../domain/value/canonical-json.ts';
import { formatDuration } from '../../domain/value/duration.ts';
import type { Json } from '../../domain/value/json.ts';
import type { VersionRecord } from '../../ports/database/catalog.ts';
import type { Builder, BuildPreview } from '../../ports/provider/builder.ts';
import type { Provider } from '../../ports/provider/provider.ts';
import { callOptions, type OperationDeps, requireImages, requireRole, simulatedBy } from '../common/deps.ts';
import { describeFailure } from '../common/describe-failure.ts';
import { comparedWith, previewNumber, requireLine } from '../image/candidate.ts';
import type { BuildInput } from './input.ts';

/** So many changes are told one by one. */
const mostChanges = 20;

/** Cheap, because it is asked before each start. */
export async function planBuild(deps: OperationDeps, input: BuildInput): Promise<readonly string[]> {
  const { recipe, hotfix, provider } = input;
  const found = deps.provider(provider);
  const builder = requireRole(found, 'builder');
  if (recipe !== undefined) requireMethod(deps, found, builder, recipe);
  if (input.locked === true) requireTools(builder, found.name);
  if (hotfix !== undefined) requireTools(builder, found.name);
  await requireLine(deps, imageOf(input), simulatedBy(deps, provider).simulated);
  return [
    ...firstLines(input),
    'Build the disk, layer by layer.',
    ...lastLines(input, builder),
    `Seal it as a candidate of ${imageOf(input)}.`,
  ];
}

/** With a look at the caches. */
export async function foreseeBuild(deps: OperationDeps, input: BuildInput): Promise<readonly string[]> {
  const { lock, build } = await foreseeParts(deps, input);
  return [...lock, ...build];
}

export interface ForeseenBuild {
  /** One sentence each. */
  readonly lock: readonly string[];
  readonly build: readonly string[];
  /** The version of the same lock: it is given back, and nothing is built. */
  readonly known?: VersionRecord;
}

/** The same, by its steps. */
export async function foreseeParts(deps: OperationDeps, input: BuildInput): Promise<ForeseenBuild> {
  const builder = requireRole(deps.provider(input.provider), 'builder');
  const forecast = await forecastOf(deps, builder, input);
  const first = firstLines(input);
  const digest = forecast === undefined ? madeUpDigest(deps, builder, input) : forecast.lockDigest;
  const image = imageOf(input);
  const known = digest === undefined ? undefined : await deps.catalogue.findVersionByLock(image, digest);
  if (known !== undefined) {
    return {
      lock: first,
      build: [`Nothing more: ${image}:${known.version} is of this lock already.`],
      known,
    };
  }
  const last = [...lastLines(input, builder), ...(await describeFailure(() => sealLines(deps, input)))];
  if (forecast === undefined) return { lock: first, build: ['Build the disk, layer by layer.', ...last] };
  return {
    lock: [...first, ...inputLines(forecast), ...(await changeLines(deps, input, forecast))],
    build: [...layerLines(forecast), ...last],
  };
}

function madeUpDigest(
  { sha256 }: OperationDeps,
  { knownLock }: Builder,
  { recipe }: BuildInput,
): string | undefined {
  if (recipe === undefined || knownLock === undefined) return undefined;
  return `sha256:${sha256(canonicalJson(knownLock(recipe as Recipe)))}`;
}

/** What differs from the version before, where both locks are known. */
async function changeLines(
  deps: OperationDeps,
  input: BuildInput,
  { lock }: BuildPreview,
): Promise<readonly string[]> {
  if (lock === undefined || input.recipe === undefined) return [];
  const before = await comparedWith(deps, imageOf(input), input.recipe.kubernetes, undefined);
  if (before?.origin.kind !== 'built') return [];
  const old = await deps.images?.locks.read(before.origin.lockDigest);
  if (old === undefined) return [];
  const { changes } = whyVersion(old, lock);
  const sentences = changes.map(({ sentence }) => sentence);
  const more = sentences.length - mostChanges;
  return [
    `Against ${before.image}:${before.version}: ${sentences.slice(0, mostChanges).join('; ')}${more > 0 ? `; and ${more} more` : ''}.`,
  ];
}

/** Throws `provider-lacks` when the provider does not build so; the hint names one at hand that does. */
function requireMethod(
  deps: OperationDeps,
  provider: Provider,
  builder: Builder,
  recipe: { readonly name: string; readonly method?: BuildMethod | undefined },
): void {
  const { name, method = 'assemble' } = recipe;
  if (builder.methods.includes(method)) return;
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
          ? 'No provider at hand builds it. The recipe can be checked, shown and locked.'
          : `Name one that does: --provider ${able.name}.`,
    },
  );
}

function inputLines({ unresolved, problems, warnings = [] }: BuildPreview): readonly string[] {
  return [
    unresolved.length === 0
      ? 'Nobody has to be asked for an input.'
      : `Resolve ${unresolved.join(', ')}; what follows takes it that they changed.`,
    ...problems.map((problem) => `This would fail: ${problem}`),
    ...warnings,
  ];
}

function layerLines({ unresolved, layers, downloads, estimate }: BuildPreview): readonly string[] {
  const { count, bytes } = downloads;
  const fetched =
    count === 0 ? 'nothing' : `${count} ${count === 1 ? 'input' : 'inputs'}, ${formatBytes(bytes)}`;
  const open = unresolved.length === 0 ? '' : ', and what is resolved anew';
  const basis = estimate.fromHistory ? 'as long as such steps took here before' : 'in part a guess';
  return [
    `Download ${fetched}${open}.`,
    ...layers.map(({ name, state }) => `Layer ${name}: ${state}.`),
    `Build the disk, in about ${formatDuration(estimate.ms)} (${basis}).`,
  ];
}

export function requireTools(builder: Builder, provider: string): NonNullable<Builder['tools']> {
  if (builder.tools !== undefined) return builder.tools;
  throw new ImagoError('provider-lacks', `Provider ${provider} only makes locks up.`, {
    hint: 'Name one that builds real disks: --provider local.',
  });
}

function imageOf({ recipe, hotfix }: BuildInput): string {
  return recipe?.name ?? hotfix?.from.replace(/[:@].*$/, '') ?? '';
}

function firstLines({ recipe, hotfix }: BuildInput): readonly string[] {
  if (hotfix === undefined) return [`Lock recipe ${recipe?.name}.`];
  return [`Take the lock of ${hotfix.from} and set ${hotfix.set.join(', ')}; everything else stays.`];
}

function lastLines(input: BuildInput, builder: Builder): readonly string[] {
  const isReal = builder.tools !== undefined;
  return [
    ...(isReal ? ['Write notes and SBOMs from the sealed disk, and sign it.'] : []),
    ...(isReal && input.hotfix !== undefined ? ['Prove that nothing else moved, or fail.'] : []),
  ];
}

/** With the number that the version gets if nothing else is built before it. */
async function sealLines(
  deps: OperationDeps,
  { recipe, bump, ...input }: BuildInput,
): Promise<readonly string[]> {
  if (recipe === undefined) return [`Seal it as a candidate of ${imageOf(input)}.`];
  return [`Seal it as a candidate: ${recipe.name}:${await previewNumber(deps, { ...recipe, bump })}.`];
}

/** `undefined` where locks are only made up. */
async function forecastOf(
  deps: OperationDeps,
  { tools }: Builder,
  input: BuildInput,
): Promise<BuildPreview | undefined> {
  const { recipe, hotfix, lock, newest, locked } = input;
  if (tools === undefined) return undefined;
  if (hotfix !== undefined) {
    const shipped = await requireImages(deps).locks.read(hotfix.lockDigest);
    if (shipped === undefined) throw notKept(hotfix.from);
    return tools.previewHotfix(shipped, hotfix.set);
  }
  const options = callOptions(deps, new AbortController().signal);
  const found = await tools.preview(recipe as Recipe, { ...options, previous: lock as Lock | undefined });
  if (locked === true && found.lockDigest !== digestOf(deps, lock as Json | undefined))
    return { ...found, problems: [...found.problems, 'The lock is not the one of the recipe.'] };
  if (newest !== true) return found;
  const { lockDigest: _, lock: __, ...rest } = found;
  return { ...rest, unresolved: ['the newest of every input'] };
}

function digestOf({ sha256 }: OperationDeps, lock: Json | undefined): string | undefined {
  return lock === undefined ? '' : `sha256:${sha256(canonicalJson(lock))}`;
}

export function notKept(from: string): ImagoError {
  return new ImagoError('lock-not-kept', `The lock of ${from} is not in the store.`);
}
