// Plans the layers of a lock and computes the key of each over everything that goes into it, so that the same key always
// means the same content. A field that is new in recipes is part of a key unless it is named here as one that is not.
// Pure: `why-rebuild` compares two of these.
import { createHash } from 'node:crypto';
import { baseOf, planMachine, snapshotOf } from '../../domain/build/machine-plan.ts';
import {
  componentInputs,
  inputsOf,
  type Lock,
  type LockedInput,
  type PackageSet,
  packageLayers,
  packagesIn,
} from '../../domain/lock/lock.ts';
import { type Recipe, type RecipeComponent, sourceOf } from '../../domain/recipe/recipe.ts';
import { expandOne } from '../../domain/recipe/variables.ts';
import { canonicalJson } from '../../domain/value/canonical-json.ts';
import type { Json } from '../../domain/value/json.ts';
import { agentName } from '../lock/parts.ts';
import { wantedPackages } from '../lock/resolve-packages.ts';
import { buildRules, defaultSuite, excludedPaths, includedPaths } from '../lock/rules.ts';

export type LayerKind =
  | 'base'
  | 'packages'
  | 'trust'
  | 'component'
  | 'images'
  | 'configuration'
  /** What a machine build does. */
  | 'machine';

export interface PlannedLayer {
  readonly kind: LayerKind;
  /** `base`, `packages containerd`, `component kubelet`, … */
  readonly name: string;
  readonly key: string;
  /** What the key is computed over, named for people. */
  readonly inputs: Readonly<Record<string, Json>>;
  /** Of a component's layer. */
  readonly component?: RecipeComponent;
  /** Of a layer of packages. */
  readonly packages?: readonly LockedInput[];
  /** Of a step on a machine: the snapshot of the disk after it. */
  readonly snapshot?: string;
}

/** From the bottom up: what changes often comes last. */
export function planLayers(lock: Lock): readonly PlannedLayer[] {
  if (lock.recipe.method === 'machine') return planSteps(lock);
  const recipe = expandOne(lock.recipe);
  const base = plan('base', 'base', {
    suite: recipe.base?.suite ?? defaultSuite,
    architecture: recipe.architecture,
    epoch: lock.epoch,
    excluded: [...excludedPaths],
    included: [...includedPaths],
    essential: packageNames(lock, 'essential'),
    packages: packageNames(lock, 'base'),
    ...furtherFields(recipe.base ?? {}, baseFields),
  });
  const installed = [base, ...planPackages(lock, recipe, base)];
  const anchors = trustInputs(recipe, lock);
  const trusted =
    anchors === undefined ? [] : [plan('trust', 'trust', { below: installed.at(-1)?.key ?? '', anchors })];
  const components = recipe.components.flatMap((component) => planComponent(component, lock));
  const images = (recipe.images ?? []).length === 0 ? [] : [planImages(recipe, lock)];
  const below = [...installed, ...trusted, ...components];
  const configuration = plan('configuration', 'configuration', {
    below: Object.fromEntries(below.map(({ name, key }) => [name, key])),
    settings: withoutTrust(recipe),
    ...furtherFields(recipe, recipeFields),
    texts: textInputs(lock),
    agent: named(lock.inputs.filter(({ name }) => name === agentName)),
    epoch: lock.epoch,
  });
  return [...below, ...images, configuration];
}

/** A lock whose base is not known has nothing to plan. */
function planSteps(lock: Lock): readonly PlannedLayer[] {
  if (baseOf(lock) === undefined) return [];
  const { base, inputs, key, steps } = planMachine(lock, sha256);
  const size = lock.recipe.disk?.sizeBytes;
  const brought = inputs.map(
    ({ input, component }) => [input.name, [input.sha256, component?.to ?? '']] as const,
  );
  return [
    plan('machine', 'base', {
      base: `${base.name} ${base.version} ${base.sha256}`,
      ...(size && { disk: size }),
    }),
    ...(inputs.length === 0 ? [] : [plan('machine', 'inputs', Object.fromEntries(brought))]),
    ...steps.map((step, index): PlannedLayer => {
      const below = steps[index - 1]?.key ?? key;
      return {
        ...{ kind: 'machine', name: `step ${step.name}`, key: step.key, snapshot: snapshotOf(step.key) },
        inputs: { script: step.digest, restart: step.restart, below },
      };
    }),
  ];
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

function plan(kind: LayerKind, name: string, inputs: Readonly<Record<string, Json>>): PlannedLayer {
  const key = sha256(canonicalJson([buildRules, kind, inputs]));
  return { kind, name, key, inputs };
}

function planPackages(lock: Lock, recipe: Recipe, base: PlannedLayer): readonly PlannedLayer[] {
  const wanted = new Set(wantedPackages(recipe).map(({ name }) => name));
  const layers: PlannedLayer[] = [];
  for (const packages of packageLayers(lock)) {
    const asked = packages.filter(({ name }) => wanted.has(name)).map(({ name }) => name);
    const inputs = { below: (layers.at(-1) ?? base).key, packages: named(packages) };
    layers.push({ ...plan('packages', `packages ${asked.join(', ')}`.trimEnd(), inputs), packages });
  }
  return layers;
}

/** A package with neither unit nor configuration is wholly in the packages' layer. */
function planComponent(component: RecipeComponent, lock: Lock): readonly PlannedLayer[] {
  const isPackage = 'package' in sourceOf(component);
  if (isPackage && component.unit === undefined && component.config === undefined) return [];
  const { updates: _, private: __, version: ___, versions: ____, from, ...placed } = component;
  const texts = [component.unit, ...(component.config ?? [])].flatMap((text) => text?.file ?? []);
  const inputs = {
    content: Object.fromEntries(
      componentInputs(component, lock.inputs).map(({ version, input }) => [
        version || 'any',
        `${input?.sha256 ?? ''} ${input?.source ?? ''}`,
      ]),
    ),
    placed: placed,
    from: isPackage ? 'package' : unpackRules(from),
    ...furtherFields(from ?? {}, sourceFields),
    texts: textInputs(lock, texts),
    epoch: lock.epoch,
  };
  return [{ ...plan('component', `component ${component.name}`, inputs), component }];
}

function unpackRules(from: RecipeComponent['from']): Json {
  const kind = from === undefined ? 'package' : (Object.keys(from)[0] ?? '');
  // Raised when the same artifact comes to other files: before, none could be run.
  if (kind === 'oci') return { kind, rules: 2 };
  if (from === undefined || !('tar' in from)) return kind;
  return { kind, strip: from.strip ?? 0, only: from.only ?? [] };
}

function planImages(recipe: Recipe, lock: Lock): PlannedLayer {
  const pinned = (recipe.images ?? []).filter((image) => image.pinned === true).map(({ name }) => name);
  return plan('images', 'images', {
    images: named(inputsOf(lock, 'container-image')),
    pinned,
    epoch: lock.epoch,
    ...Object.fromEntries(
      (recipe.images ?? []).flatMap((image) =>
        Object.entries(furtherFields(image, imageFields)).map(([field, value]) => [
          `${image.name} ${field}`,
          value,
        ]),
      ),
    ),
  });
}

function packageNames(lock: Lock, set: PackageSet): Json {
  return named(packagesIn(lock, set));
}

/** By name, so that a change is reported with the name of what changed. */
function named(inputs: readonly LockedInput[]): Json {
  return Object.fromEntries(inputs.map(({ name, version, sha256 }) => [name, `${version} ${sha256}`]));
}

function textInputs(lock: Lock, only?: readonly string[]): Json {
  return named(inputsOf(lock, 'config').filter(({ name }) => only === undefined || only.includes(name)));
}

function trustInputs(recipe: Recipe, lock: Lock): Json | undefined {
  const anchors = recipe.settings.trust ?? [];
  if (anchors.length === 0) return undefined;
  return Object.fromEntries(
    anchors.map(({ name, content, file }) => [
      name,
      content ?? lock.inputs.find((input) => input.kind === 'config' && input.name === file)?.sha256 ?? '',
    ]),
  );
}

/** What the configuration's layer is made of: not what the boot loader or the packages' layer takes care of. */
function withoutTrust({ settings }: Recipe): Json {
  const { trust: _, kernelArguments: __, sim: ___, ...rest } = settings;
  return rest;
}

/** The fields that put nothing into a layer, or that are part of a key in another form. */
const recipeFields = [
  ...[
    'name',
    'numbering',
    'os',
    'architecture',
    'method',
    'kubernetes',
    'matrix',
    'base',
    'disk',
    'packages',
  ],
  ...['components', 'images', 'settings', 'windows', 'steps', 'tests', 'firmware', 'budgets', 'expect'],
  ...['support', 'notes', 'folder', 'roots', 'sent'],
];
const baseFields = [
  ...['distribution', 'suite', 'mirror', 'securityMirror', 'components', 'keys', 'packages', 'image'],
];
const sourceFields = [
  ...['package', 'url', 'file', 'folder', 'tar', 'oci', 'layout', 'digest', 'sha256', 'strip', 'only'],
];
const imageFields = ['name', 'from', 'pinned', 'private'];

function furtherFields(value: { readonly [field: string]: Json | undefined }, known: readonly string[]) {
  const further = Object.entries(value).filter(([field]) => !known.includes(field));
  return Object.fromEntries(further) as Readonly<Record<string, Json>>;
}
