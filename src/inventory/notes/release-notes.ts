// Release notes: what is on a version and what changed since the previous one, as data. They are made last, from the
// sealed disk; render.ts writes them for people.

import { type InputKind, inputsOf, type Lock } from '../../domain/lock/lock.ts';
import { whyVersion } from '../../domain/lock/reason.ts';
import { diffInventories, type InventoryDiff } from '../diff/diff.ts';
import type {
  Inventory,
  InventoryContainerImage,
  InventorySizes,
  InventoryWindows,
} from '../model/inventory.ts';
import { isSecret, type PrivateInput, privateInputs, publicName, redactInventory } from '../model/redact.ts';

export interface ReleaseNotesInput {
  readonly image: string;
  readonly version: string;
  /** Of the version's manifest. */
  readonly digest: string;
  readonly diskSha256: string;
  readonly createdAt: string;
  readonly inventory: Inventory;
  /** Absent for versions that were captured or imported. */
  readonly lock?: Lock;
  /** Locks whose private inputs may be on the disk as well: of the ancestors of a captured version. */
  readonly ancestors?: readonly Lock[];
  /** The previous version. */
  readonly previous?: {
    readonly version: string;
    readonly digest: string;
    readonly inventory: Inventory;
    readonly lock?: Lock;
  };
  /** How long each step of the build took. */
  readonly timings?: readonly { readonly step: string; readonly ms: number }[];
  /** As the tests measured it. */
  readonly bootToReadyMs?: number;
  /** What nodes got by node config before, and is now on the image. */
  readonly hotfixes?: readonly { readonly name: string; readonly version: string }[];
}

export interface ReleaseNotes {
  readonly format: 1;
  readonly image: string;
  readonly version: string;
  readonly digest: string;
  readonly diskSha256: string;
  readonly createdAt: string;
  readonly os: 'linux' | 'windows';
  readonly system: string;
  readonly kernel: string;
  readonly kernelArguments: readonly string[];
  readonly kubernetes?: string;
  readonly base?: string;
  /** Whether it holds private inputs, and may be used in named pools alone. */
  readonly restricted: boolean;
  readonly text?: string;
  readonly sizes: InventorySizes;
  readonly budgets: readonly NotedBudget[];
  /** What the tests allow because of the recipe. Absent if there is nothing. */
  readonly expected?: readonly string[];
  readonly timings: readonly { readonly step: string; readonly ms: number }[];
  readonly components: readonly NotedComponent[];
  readonly packages: readonly NotedPackage[];
  readonly containerImages: readonly InventoryContainerImage[];
  readonly enabledUnits: readonly string[];
  readonly windows?: InventoryWindows;
  readonly hotfixes: readonly { readonly name: string; readonly version: string }[];
  readonly changes?: NotedChanges;
}

export interface NotedMeasures {
  readonly bootToReadyMs: number;
}

export interface NotedBudget {
  readonly name: 'size' | 'boot to ready';
  readonly limit: number;
  readonly unit: 'bytes' | 'ms';
  /** Absent if it was not measured. */
  readonly actual?: number;
  readonly isKept?: boolean;
}

export interface NotedComponent {
  readonly kind: InputKind;
  readonly name: string;
  /** Empty for private ones. */
  readonly version: string;
  readonly sizeBytes: number;
  readonly sha256: string;
}

export interface NotedPackage {
  readonly name: string;
  /** Empty for private ones. */
  readonly version: string;
  readonly architecture: string;
  /** As dpkg says. */
  readonly installedBytes: number;
  /** Of the file that it came in, where the lock has it. */
  readonly sha256?: string;
}

export interface NotedChanges {
  readonly since: { readonly version: string; readonly digest: string };
  /** Why there is a new version, where both have a lock. */
  readonly reason?: string;
  readonly diff: InventoryDiff;
}

/** The same input gives the same notes. Names and addresses of private inputs are in no part of them. */
export function makeReleaseNotes(input: ReleaseNotesInput): ReleaseNotes {
  const { lock, previous, hotfixes = [] } = input;
  const own = ownSecrets(input);
  const secrets = privateInputs(...locksOf(input), ...(previous?.lock === undefined ? [] : [previous.lock]));
  const inventory = redactInventory(input.inventory, secrets);
  const hidden = new Set(secrets.flatMap(({ names }) => names));
  const recipe = lock?.recipe;
  const base = baseOf(input);
  const expected = expectedOf(lock, inventory);
  return {
    format: 1,
    image: input.image,
    version: input.version,
    digest: input.digest,
    diskSha256: input.diskSha256,
    createdAt: input.createdAt,
    os: inventory.os,
    system: inventory.system,
    kernel: inventory.kernel.version,
    kernelArguments: inventory.settings.kernelArguments,
    ...(recipe?.kubernetes !== undefined && { kubernetes: recipe.kubernetes }),
    ...(base !== undefined && { base }),
    restricted: own.length > 0 || inventory.release.RESTRICTED === 'yes',
    ...(recipe?.notes !== undefined && { text: recipe.notes }),
    sizes: inventory.sizes,
    budgets: budgetsOf(input),
    ...(expected.length > 0 && { expected }),
    timings: input.timings ?? [],
    components: lock === undefined ? [] : componentsOf(lock, secrets),
    packages: packagesOf(input, secrets),
    containerImages: inventory.containerImages,
    enabledUnits: inventory.units.filter(({ state }) => state === 'enabled').map(({ name }) => name),
    ...(inventory.windows !== undefined && { windows: inventory.windows }),
    hotfixes: hotfixes.filter(({ name }) => !hidden.has(name)),
    ...(previous !== undefined && { changes: changesOf(previous, inventory, lock, secrets) }),
  };
}

function locksOf({ lock, ancestors = [] }: ReleaseNotesInput): Lock[] {
  return lock === undefined ? [...ancestors] : [lock, ...ancestors];
}

/** The private inputs that may be on the version itself. */
export function ownSecrets(input: ReleaseNotesInput): PrivateInput[] {
  return privateInputs(...locksOf(input));
}

function changesOf(
  previous: NonNullable<ReleaseNotesInput['previous']>,
  inventory: Inventory,
  lock: Lock | undefined,
  secrets: readonly PrivateInput[],
): NotedChanges {
  const before = redactInventory(previous.inventory, secrets);
  const reason =
    lock === undefined || previous.lock === undefined ? undefined : whyVersion(previous.lock, lock).sentence;
  return {
    since: { version: previous.version, digest: previous.digest },
    ...(reason !== undefined && { reason }),
    diff: diffInventories(before, inventory),
  };
}

function componentsOf(lock: Lock, secrets: readonly PrivateInput[]): NotedComponent[] {
  const named = new Set(lock.recipe.components.map(({ name }) => name));
  return (['binary', 'files', 'package', 'patch', 'config'] as const)
    .flatMap((kind) => inputsOf(lock, kind))
    .filter(({ kind, name }) => kind !== 'package' || named.has(name))
    .map((input) => ({
      kind: input.kind,
      name: publicName(input, secrets),
      version: isSecret(input, secrets) ? '' : input.version,
      sizeBytes: input.sizeBytes,
      sha256: input.sha256,
    }));
}

/** What the recipe says; else what the disk says of itself, which knows the default of its build. */
function baseOf({ lock, inventory }: ReleaseNotesInput): string | undefined {
  const { distribution = 'debian', suite } = lock?.recipe.base ?? {};
  return suite === undefined ? inventory.release.BASE : `${distribution} ${suite}`;
}

function packagesOf(
  { lock, inventory }: ReleaseNotesInput,
  secrets: readonly PrivateInput[],
): NotedPackage[] {
  const locked = lock === undefined ? [] : inputsOf(lock, 'package');
  const hashes = new Map(locked.map(({ name, version, sha256 }) => [`${name} ${version}`, sha256]));
  return inventory.packages.map(({ name, version, architecture, installedBytes }) => {
    const sha256 = hashes.get(`${name} ${version}`);
    const alias = secrets.find(({ names }) => names.includes(name))?.alias;
    return {
      ...(alias === undefined ? { name, version } : { name: alias, version: '' }),
      ...{ architecture, installedBytes },
      ...(sha256 !== undefined && { sha256 }),
    };
  });
}

/** Programs that are on the disk under names that everybody may read: a private one has another there. */
function expectedOf(lock: Lock | undefined, { files }: Inventory): string[] {
  const { ports = [], setuid = [] } = lock?.recipe.expect ?? {};
  const shown = new Set(files.map(({ path }) => path));
  return [
    ...ports.map((port) => `the port ${port} is open to the network`),
    ...setuid.flatMap((path) =>
      shown.has(path) ? [`${path} runs with the rights of its owner or group`] : [],
    ),
  ];
}

/** With what the tests measured, where a budget asks for it. */
export function withMeasures(notes: ReleaseNotes, { bootToReadyMs }: NotedMeasures): ReleaseNotes {
  const budgets = notes.budgets.map((budget) =>
    budget.name === 'boot to ready'
      ? { ...budget, actual: bootToReadyMs, isKept: bootToReadyMs <= budget.limit }
      : budget,
  );
  return { ...notes, budgets };
}

function budgetsOf({ lock, inventory, bootToReadyMs }: ReleaseNotesInput): NotedBudget[] {
  const { sizeBytes, bootToReadyMs: bootLimit } = lock?.recipe.budgets ?? {};
  const used = inventory.sizes.usedBytes;
  return [
    ...(sizeBytes === undefined
      ? []
      : [
          { name: 'size', limit: sizeBytes, unit: 'bytes', actual: used, isKept: used <= sizeBytes } as const,
        ]),
    ...(bootLimit === undefined
      ? []
      : [
          {
            name: 'boot to ready',
            limit: bootLimit,
            unit: 'ms',
            ...(bootToReadyMs !== undefined && { actual: bootToReadyMs, isKept: bootToReadyMs <= bootLimit }),
          } as const,
        ]),
  ];
}
