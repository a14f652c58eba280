// The parts of a recipe that are resolved one by one: what stays as it was locked before, what only others know, and
// what lies beside the recipe.

import { ImagoError } from '../../domain/error/imago-error.ts';
import {
  assumedSource,
  componentInputs,
  describeInput,
  expectedSha256,
  type Lock,
  type LockedInput,
  packageVersionFits,
} from '../../domain/lock/lock.ts';
import { isLocal } from '../../domain/recipe/local-path.ts';
import {
  componentKind,
  type Recipe,
  sourceOf,
  versionsOf,
  type WindowsPatch,
} from '../../domain/recipe/recipe.ts';
import { expandOne } from '../../domain/recipe/variables.ts';
import { patchName, planPatches } from '../../domain/recipe/windows.ts';
import { canonicalJson } from '../../domain/value/canonical-json.ts';
import type { Json } from '../../domain/value/json.ts';
import type { LockContext } from './context.ts';
import { resolvePackages } from './keep-versions.ts';
import { checkUpdate } from './read-update.ts';
import { resolveComponent, takeFile } from './resolve-component.ts';
import { resolveImage } from './resolve-images.ts';
import { privatePackages, wantedPackages } from './resolve-packages.ts';
import { resolveTexts } from './resolve-texts.ts';
import { buildRules } from './rules.ts';
import { archiveWish } from './signed-packages.ts';

/** The name of Imago's own program among the inputs. */
export const agentName = 'imago-agent';

export interface LockPart {
  /** For progress: `resolving kubelet`. Private inputs are not named. */
  readonly what: string;
  /** What was locked before and still fits. */
  readonly kept?: readonly LockedInput[] | undefined;
  /** Whether `resolve` needs no other host. */
  readonly local: boolean;
  resolve(): Promise<readonly LockedInput[]>;
  /** Placeholders as long as it is not resolved: nothing that was ever built has such inputs. */
  assume(): readonly LockedInput[];
}

/** The recipe must be expanded. */
export function lockParts(
  recipe: Recipe,
  context: LockContext,
  previous: Lock | undefined,
): readonly LockPart[] {
  const before = previous && expandLock(previous);
  const assembles = recipe.method !== 'machine';
  if (assembles && context.agent === 'missing') {
    throw new ImagoError(
      'agent-missing',
      `${recipe.name} would have no agent, and its nodes would never be ready.`,
    );
  }
  return [
    ...(assembles ? [packagePart(recipe, context, before)] : [basePart(context)]),
    ...recipe.components.map((component) => componentPart(component, context, before)),
    ...(recipe.images ?? []).map((image) => imagePart(image, recipe, context, before)),
    ...plannedPatches(recipe, context).map((patch) => ({
      what: `resolving ${patch.private === true ? 'a private patch' : patch.kb}`,
      local: patch.url === undefined,
      resolve: async () => [await resolvePatch(patch, context)],
      assume: () => [{ ...assumed('patch', patch.kb, patch.class, patch.sha256), ...secretOf(patch) }],
    })),
    {
      what: 'reading the files of the recipe',
      local: true,
      resolve: () => resolveTexts(recipe, context),
      assume: () => [],
    },
    ...(assembles && context.agent !== undefined ? [agentPart(context)] : []),
  ];
}

/** The lock from before, with its recipe's variables written out. */
interface Before {
  readonly recipe: Recipe;
  readonly inputs: readonly LockedInput[];
  /** Whether the build rules of then are those of now: others may want other packages. */
  readonly isOfTheseRules: boolean;
}

function expandLock({ recipe, inputs, rules }: Lock): Before {
  return { recipe: expandOne(recipe), inputs, isOfTheseRules: rules === buildRules };
}

function packagePart(recipe: Recipe, context: LockContext, before: Before | undefined): LockPart {
  const known = before?.inputs.filter(({ kind }) => kind === 'package') ?? [];
  const indexes = before?.inputs.filter(({ kind }) => kind === 'index') ?? [];
  const hidden = privatePackages(recipe);
  const isMarked = hidden.every((name) => known.every((one) => one.name !== name || one.private === true));
  const fits =
    before?.isOfTheseRules === true &&
    indexes.length > 0 &&
    isMarked &&
    same(packageWish(recipe), packageWish(before.recipe));
  return {
    what: 'resolving packages',
    kept: fits ? [...known, ...indexes] : undefined,
    local: false,
    resolve: () => resolvePackages(recipe, context, known),
    assume() {
      const fresh = wantedPackages(recipe).filter(
        ({ name, version = '' }) =>
          !known.some((one) => one.name === name && (!version || packageVersionFits(version, one.version))),
      );
      return [
        ...known.filter(({ name }) => !fresh.some((one) => one.name === name)),
        ...fresh.map(({ name, version = '0' }) => ({
          ...assumed('package', name, version),
          sets: ['packages' as const],
          ...(hidden.includes(name) && { private: true as const }),
        })),
      ];
    },
  };
}

/** The catalog finds it, before the recipe is locked. */
function basePart({ base }: LockContext): LockPart {
  const kept = base === undefined ? [] : [base];
  return { what: 'resolving the base', kept, local: true, resolve: async () => kept, assume: () => kept };
}

function packageWish(recipe: Recipe): unknown {
  const { suite, machine, components, keys } = archiveWish(recipe);
  return {
    ...{
      suite,
      machine,
      components,
      keys,
      base: recipe.base?.packages ?? [],
      wanted: wantedPackages(recipe),
    },
    private: privatePackages(recipe),
  };
}

function componentPart(
  component: Recipe['components'][number],
  context: LockContext,
  before: Before | undefined,
): LockPart {
  const source = sourceOf(component);
  const isPackage = 'package' in source;
  return {
    what: `resolving ${named(component)}`,
    kept: keptComponent(component, before),
    local: isPackage || isBeside(source),
    resolve: () => resolveComponent(component, context),
    assume: () =>
      isPackage
        ? []
        : versionsOf(component).map((version) => ({
            ...assumed(componentKind(component), component.name, version, expectedSha256(component, version)),
            ...secretOf(component),
          })),
  };
}

function isBeside(source: object): boolean {
  if ('tar' in source && typeof source.tar === 'string') return isLocal(source.tar);
  return 'file' in source || 'folder' in source || 'layout' in source;
}

/** What came from an address and is asked for in the same words stays what it was. */
function keptComponent(
  component: Recipe['components'][number],
  before: Before | undefined,
): readonly LockedInput[] | undefined {
  const known = before?.recipe.components.find(({ name }) => name === component.name);
  if (before === undefined || known === undefined) return undefined;
  const wish = (one: typeof component) => [one.version, one.versions, one.from, one.private];
  if (!same(wish(known), wish(component))) return undefined;
  const inputs = componentInputs(component, before.inputs).flatMap(({ input }) => input ?? []);
  const remote = inputs.filter(({ kind, source }) => kind !== 'package' && isRemote(source));
  return remote.length === inputs.length && inputs.length > 0 ? inputs : undefined;
}

function imagePart(
  image: NonNullable<Recipe['images']>[number],
  recipe: Recipe,
  context: LockContext,
  before: Before | undefined,
): LockPart {
  return {
    what: `resolving ${named(image)}`,
    kept: keptImage(image, before),
    local: image.from !== undefined && 'layout' in image.from,
    resolve: async () => [await resolveImage(image, recipe, context)],
    assume: () => [
      { ...assumed('container-image', image.name, image.name.replace(/^.*:/, '')), ...secretOf(image) },
    ],
  };
}

function keptImage(
  image: NonNullable<Recipe['images']>[number],
  before: Before | undefined,
): readonly LockedInput[] | undefined {
  const known = before?.recipe.images?.find(({ name }) => name === image.name);
  if (before === undefined || known === undefined || !same(known, image)) return undefined;
  const inputs = before.inputs.filter(({ kind, name }) => kind === 'container-image' && name === image.name);
  return inputs.length === 1 && inputs.every(({ source }) => isRemote(source)) ? inputs : undefined;
}

function isRemote(source: string): boolean {
  return /^(?:https?|oci):|^archive:https?:/.test(source);
}

function same(a: unknown, b: unknown): boolean {
  const text = (value: unknown) => canonicalJson(JSON.parse(JSON.stringify(value ?? null)) as Json);
  return text(a) === text(b);
}

function named(item: { readonly name: string; readonly private?: true }): string {
  return item.private === true ? 'a private input' : item.name;
}

function secretOf(item: { readonly private?: true }): { readonly private?: true } {
  return item.private === true ? { private: true } : {};
}

function assumed(
  kind: LockedInput['kind'],
  name: string,
  version: string,
  sha256: string = '0'.repeat(64),
): LockedInput {
  return { kind, name, version, sha256, sizeBytes: 0, source: assumedSource };
}

function agentPart(context: LockContext): LockPart {
  return {
    what: 'taking in the agent',
    local: true,
    async resolve() {
      if (context.agent === undefined || context.agent === 'missing') return [];
      const { version, archive } = context.agent;
      const { sha256, sizeBytes } = await context.inputs.addBytes(archive);
      return [{ kind: 'files', name: agentName, version, sha256, sizeBytes, source: 'imago:agent' }];
    },
    assume: () => [],
  };
}

/** Superseded ones are reported, and are no input. */
function plannedPatches({ windows = {} }: Recipe, { log }: LockContext): readonly WindowsPatch[] {
  const { install, beside, superseded } = planPatches(windows);
  for (const { patch, by } of superseded) {
    log(`${patchName(patch)} is not installed: it is superseded by ${by}.`);
  }
  return [...beside, ...install];
}

async function resolvePatch(patch: WindowsPatch, context: LockContext): Promise<LockedInput> {
  const secret = patch.private === true ? { private: true as const } : {};
  const label = describeInput({ kind: 'patch', name: patch.kb, version: patch.class, ...secret });
  const stored =
    patch.url === undefined
      ? await takeFile({ label, expected: patch.sha256, context, path: patch.file ?? '' })
      : await context.downloads.fetch({
          url: patch.url,
          label,
          sha256: patch.sha256,
          signal: context.signal,
        });
  const source = patch.url ?? `file:${patch.file ?? ''}`;
  await checkUpdate(context.inputs.read(stored), { kb: patch.kb, label, source, log: context.log });
  return {
    ...{ kind: 'patch', name: patch.kb, version: patch.class, sha256: stored.sha256 },
    ...{ sizeBytes: stored.sizeBytes, source, ...secret },
  };
}
