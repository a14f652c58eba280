// The lock: a recipe with every input resolved to exact version, sha256, size and source. Its digest is that of
// `lockText`: same content, same text, whatever order things were found in.

import { ImagoError } from '../error/imago-error.ts';
import { checkWords } from '../recipe/problems.ts';
import {
  componentKind,
  type Recipe,
  type RecipeComponent,
  sourceOf,
  versionsOf,
  withoutPlace,
} from '../recipe/recipe.ts';
import { expandOne } from '../recipe/variables.ts';
import { canonicalJson } from '../value/canonical-json.ts';
import { wordProblem } from '../value/word.ts';

export const inputKinds = [
  'package',
  'binary',
  'files',
  'container-image',
  'config',
  'patch',
  'index',
  'base',
] as const;
/**
 * `config` is a text that settings or a component name by its file, `patch` an update for Windows, `index` a part of the
 * signed index that lists the packages: evidence, and on no disk. `base` is the version that a machine is started from,
 * by the digest of its manifest.
 */
export type InputKind = (typeof inputKinds)[number];

/** What packages are for: the base system (what comes first in it), the node's own, or the build itself. */
export const packageSets = ['essential', 'base', 'packages', 'tools'] as const;
export type PackageSet = (typeof packageSets)[number];

export type LockedInput = {
  readonly kind: InputKind;
  readonly name: string;
  readonly version: string;
  /** 64 hexadecimal digits; of the canonical archive for folders, of the manifest for container images. */
  readonly sha256: string;
  readonly sizeBytes: number;
  /**
   * Where it was found: an http address; `image:` and the reference that named a version; `debian:` or `debian-security:` and a path in the archive, `apt:` or
   * `apt-security:` if the recipe has the archive's keys; `oci:` and a
   * registry's reference; or, with a path that begins at the recipe's folder, `file:`, `folder:`, `layout:` and
   * `archive:`.
   */
  readonly source: string;
  /** Of packages. */
  readonly sets?: readonly PackageSet[];
  /** Of packages above the base: in which of their layers it is, from 0 on. */
  readonly layer?: number;
  /** What it takes up once it is on the system, where that is known beforehand. */
  readonly installedBytes?: number;
  readonly private?: true;
};

export type Lock = {
  /** Raised when the meaning of a lock changes, so that old locks are told apart. */
  readonly format: 1;
  /** Of the build rules that the lock was made for. */
  readonly rules: number;
  /** Seconds since 1970: no file on the disk is younger. */
  readonly epoch: number;
  /** Of one Kubernetes version; its variables are kept, so that one version can be set anew. */
  readonly recipe: Recipe;
  /** In the order of kind, name and version; with the dependencies that the recipe does not name. */
  readonly inputs: readonly LockedInput[];
};

export type LockFacts = {
  readonly rules: number;
  readonly epoch: number;
};

/**
 * Throws `recipe-invalid` when a component has no input, or an input is not exact or is given twice. The
 * recipe's folder is left out: a lock is the same wherever it is made.
 */
export function makeLock(recipe: Recipe, found: readonly LockedInput[], facts: LockFacts): Lock {
  const inputs = [...found].sort((a, b) => (inputKey(a) < inputKey(b) ? -1 : 1));
  const keys = new Set<string>();
  for (const input of inputs) {
    if (keys.has(inputKey(input))) throw unlocked(`${describeInput(input)} was resolved twice.`);
    if (!/^[0-9a-f]{64}$/.test(input.sha256)) throw unlocked(`${describeInput(input)} has no sha256.`);
    if (!Number.isSafeInteger(input.sizeBytes) || input.sizeBytes < 0) {
      throw unlocked(`${describeInput(input)} has no size.`);
    }
    keys.add(inputKey(input));
  }
  for (const component of expandOne(recipe).components) requireInputs(component, inputs);
  return { format: 1, rules: facts.rules, epoch: facts.epoch, recipe: withoutPlace(recipe), inputs };
}

/** For a lock that comes from outside: throws `recipe-invalid` for words that no lock of ours has. */
export function checkLockWords({ recipe, inputs }: Pick<Lock, 'recipe' | 'inputs'>): void {
  checkWords(expandOne(recipe));
  for (const input of inputs) {
    const problem = inputProblem(input);
    if (problem !== undefined) throw unlocked(`${describeInput(input)} is malformed: ${problem}.`);
  }
}

/** Names and versions of packages reach apt and dpkg, and a source decides what is read. */
function inputProblem({ kind, name, version, source }: LockedInput): string | undefined {
  if ([name, version, source].some((text) => /\p{Cc}/u.test(text) || text.startsWith('-'))) {
    return 'a word starts with a dash or contains a control character';
  }
  if ((kind !== 'package' && kind !== 'index') || source === assumedSource) return undefined;
  if (!packageSource.test(source) || /\/\.{1,2}\//.test(source))
    return `${source} is not a path in an archive`;
  if (kind === 'index') return undefined;
  return wordProblem('package', name) ?? wordProblem('package version', version);
}

/** What replaces the source of an input that was not resolved yet, in a preview. */
export const assumedSource = 'assumed';
const packageSource = /^(?:debian|apt)(?:-security)?:[A-Za-z0-9][A-Za-z0-9/_.+~:%-]*$/;

function requireInputs(component: RecipeComponent, inputs: readonly LockedInput[]): void {
  for (const { version, input } of componentInputs(component, inputs)) {
    const who = `The ${componentKind(component)} ${component.name} ${version}`.trimEnd();
    if (input === undefined) throw unlocked(`${who} was not resolved.`);
    const expected = expectedSha256(component, version);
    if (expected !== undefined && expected !== input.sha256) {
      throw unlocked(`${who} has the sha256 ${input.sha256}, and the recipe says ${expected}.`);
    }
  }
}

export type ComponentInput = {
  /** As the recipe says; empty for a package of any version. */
  readonly version: string;
  readonly input: LockedInput | undefined;
};

/** The inputs of each version of a component. */
export function componentInputs(
  component: RecipeComponent,
  inputs: readonly LockedInput[],
): readonly ComponentInput[] {
  const source = sourceOf(component);
  if ('package' in source) {
    const input = inputs.find(
      (candidate) =>
        candidate.kind === 'package' &&
        candidate.name === source.package &&
        (component.version === undefined || packageVersionFits(component.version, candidate.version)),
    );
    return [{ version: component.version ?? '', input }];
  }
  const kind = componentKind(component);
  return versionsOf(component).map((version) => ({
    version,
    input: inputs.find(
      (candidate) =>
        candidate.kind === kind && candidate.name === component.name && candidate.version === version,
    ),
  }));
}

export function expectedSha256(component: RecipeComponent, version: string): string | undefined {
  const source = sourceOf(component);
  if (!('sha256' in source) || source.sha256 === undefined) return undefined;
  return typeof source.sha256 === 'string' ? source.sha256 : source.sha256[version];
}

/** Whether a Debian version is the wanted one: wholly, or by its upstream part (`1.7.24` for `1.7.24~ds1-6`). */
export function packageVersionFits(wanted: string, version: string): boolean {
  if (wanted === version) return true;
  const withoutEpoch = version.replace(/^[0-9]+:/, '');
  const upstream = withoutEpoch.replace(/-[^-]*$/, '');
  return [withoutEpoch, upstream, upstream.replace(/[~+](?:ds|dfsg|really)[0-9.]*$/, '')].includes(wanted);
}

/** What the lock's digest is computed over. */
export function lockText(lock: Lock): string {
  return canonicalJson(lock);
}

export function inputsOf(lock: Lock, kind: InputKind): readonly LockedInput[] {
  return lock.inputs.filter((input) => input.kind === kind);
}

export function packagesIn(lock: Lock, set: PackageSet): readonly LockedInput[] {
  return inputsOf(lock, 'package').filter((input) => input.sets?.includes(set) === true);
}

/** The node's own packages by their layers, from the bottom up. */
export function packageLayers(lock: Lock): readonly (readonly LockedInput[])[] {
  const packages = packagesIn(lock, 'packages');
  const count = Math.max(-1, ...packages.map(({ layer }) => layer ?? 0)) + 1;
  return Array.from({ length: count }, (_, number) =>
    packages.filter(({ layer }) => (layer ?? 0) === number),
  );
}

type Named = Pick<LockedInput, 'kind' | 'name' | 'version' | 'private'>;

export function inputKey({ kind, name, version }: Named): string {
  return JSON.stringify([kind, name, version]);
}

/** For sentences. A private input is not named; the name of a container image ends in its version. */
export function describeInput({ kind, name, version, private: secret }: Named): string {
  if (secret === true) return `A private ${kind}`;
  return name.endsWith(`:${version}`) ? `The ${kind} ${name}` : `The ${kind} ${name} ${version}`;
}

function unlocked(message: string): ImagoError {
  return new ImagoError('recipe-invalid', message);
}
