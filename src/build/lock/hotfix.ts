// Takes the lock of a version that was shipped and changes one input of it: nothing else moves, and the two locks
// prove it.
import { ImagoError } from '../../domain/error/imago-error.ts';
import { inputChanges } from '../../domain/lock/changes.ts';
import { inputKey, type Lock, type LockedInput, makeLock } from '../../domain/lock/lock.ts';
import { checkRecipe } from '../../domain/recipe/problems.ts';
import { type Recipe, type RecipeComponent, sourceOf } from '../../domain/recipe/recipe.ts';
import { expandOne } from '../../domain/recipe/variables.ts';
import { didYouMean } from '../../domain/value/suggest.ts';
import { checkWord } from '../../domain/value/word.ts';
import { withApt } from '../debian/apt-workspace.ts';
import type { PackageRecord } from '../debian/package-record.ts';
import { describePackages, packageVersions, solvePackages } from '../debian/solve-packages.ts';
import type { LockContext } from './context.ts';
import { resolveComponent } from './resolve-component.ts';
import { lockedPackage } from './resolve-packages.ts';
import { archiveOf, archiveWish, lockIndexes } from './signed-packages.ts';

export interface HotfixSet {
  /** A component or a Debian package of the lock. */
  readonly name: string;
  readonly version: string;
  /** Of what the new version's source gives, if it is to be checked. */
  readonly sha256?: string;
}

/** `NAME=VERSION` or `NAME=VERSION@sha256:HEX`. Throws `input-invalid`. */
export function parseHotfixSet(text: string): HotfixSet {
  const match = /^([^=\s]+)=([^@\s]+)(?:@sha256:([0-9a-f]{64}))?$/.exec(text);
  const [, name, version, sha256] = match ?? [];
  if (name !== undefined && version !== undefined) {
    return { name, version: checkWord('version', version), ...(sha256 && { sha256 }) };
  }
  throw new ImagoError('input-invalid', `${JSON.stringify(text)} does not say what to set.`, {
    hint: 'Write COMPONENT=VERSION.',
  });
}

/**
 * The lock with these inputs changed. Throws `input-invalid` for a name that the lock does not have, and
 * `package-conflict` when a package cannot be changed alone.
 */
export async function hotfixLock(
  lock: Lock,
  sets: readonly HotfixSet[],
  context: LockContext,
): Promise<Lock> {
  let fixed = lock;
  for (const set of sets) {
    requireFixable(lock, set.name);
    const component = lock.recipe.components.find(({ name }) => name === set.name);
    if (component !== undefined && !('package' in sourceOf(component))) {
      fixed = await fixComponent(fixed, component, set, context);
    } else
      fixed = await fixPackage(
        fixed,
        component === undefined ? set.name : packageOf(component),
        set,
        context,
      );
  }
  const names = new Set(sets.map(({ name }) => name));
  const packages = lock.recipe.components.filter(({ name }) => names.has(name)).map(packageOf);
  const moved = inputChanges(lock, fixed).find(({ name }) => !names.has(name) && !packages.includes(name));
  if (moved !== undefined)
    throw new ImagoError('internal', `a hotfix moved ${moved.name}, which it must not`);
  return fixed;
}

/** Throws `input-invalid` for a name that the lock does not have, or has in several versions side by side. */
export function requireFixable(lock: Lock, name: string): void {
  const component = lock.recipe.components.find((one) => one.name === name);
  if (component?.versions !== undefined)
    throw new ImagoError('input-invalid', `${name} has several versions side by side: change the recipe.`);
  const isThere = lock.inputs.some((input) => input.kind === 'package' && input.name === name);
  if (component === undefined && !isThere) throw unknown(lock, name);
}

function packageOf(component: RecipeComponent): string {
  const source = sourceOf(component);
  return 'package' in source ? source.package : component.name;
}

async function fixComponent(
  lock: Lock,
  component: RecipeComponent,
  { version, sha256 }: HotfixSet,
  context: LockContext,
): Promise<Lock> {
  const changed = {
    ...component,
    version,
    ...(component.from && { from: withHash(component.from, version, sha256) }),
  };
  const recipe: Recipe = {
    ...lock.recipe,
    components: lock.recipe.components.map((one) => (one.name === component.name ? changed : one)),
  };
  const whole = expandOne(recipe);
  checkRecipe(whole);
  const expanded = whole.components.find(({ name }) => name === component.name) ?? changed;
  const fresh = await resolveComponent(expanded, context);
  const kinds = new Set(fresh.map(({ kind }) => kind));
  const kept = lock.inputs.filter(({ kind, name }) => name !== component.name || !kinds.has(kind));
  return makeLock(recipe, [...kept, ...fresh], lock);
}

/** A sha256 that was given for the old version says nothing about the new one. */
function withHash(
  from: NonNullable<RecipeComponent['from']>,
  version: string,
  sha256: string | undefined,
): NonNullable<RecipeComponent['from']> {
  if (!('url' in from || 'file' in from || 'tar' in from)) return from;
  const { sha256: before, ...rest } = from;
  if (sha256 !== undefined) return { ...rest, sha256 };
  if (typeof before === 'object' && before[version] !== undefined) return from;
  return rest;
}

async function fixPackage(
  lock: Lock,
  name: string,
  { version }: HotfixSet,
  context: LockContext,
): Promise<Lock> {
  const old = lock.inputs.find((input) => input.kind === 'package' && input.name === name);
  if (old === undefined) throw unknown(lock, name);
  const wish = archiveWish(lock.recipe);
  const archive = await context.findArchive(wish);
  const signed = await withApt(archive, context, async (apt) => {
    const others = await installedOthers(apt, lock, name);
    const solved = await solvePackages(apt, [{ name, version }], others);
    const more = solved.filter((one) => one.name !== name);
    const [found] = solved.filter((one) => one.name === name);
    if (found !== undefined && more.length === 0) {
      const { sets, layer, private: secret } = old;
      const fresh: LockedInput = {
        ...lockedPackage(found, sets ?? []),
        ...(layer !== undefined && { layer }),
        ...(secret === true && { private: true as const }),
      };
      return lockIndexes(apt, archiveOf(lock.recipe), [fresh], context);
    }
    throw new ImagoError(
      'package-conflict',
      `${name} ${version} cannot be changed alone: it also needs ${more.map((one) => `${one.name} ${one.version}`).join(', ')}.`,
      { hint: 'Set these as well, or lock the recipe again.' },
    );
  });
  const fresh = signed.find(({ kind }) => kind === 'package') ?? old;
  const known = new Set(lock.inputs.map(inputKey));
  const indexes = signed.filter((input) => input.kind === 'index' && !known.has(inputKey(input)));
  const inputs = [...lock.inputs.map((input) => (input === old ? fresh : input)), ...indexes];
  return makeLock(pinned(lock.recipe, name, fresh.version), inputs, lock);
}

/** Every other package of the system as it is locked; those that the archive has forgotten are made up. */
async function installedOthers(
  apt: Parameters<typeof describePackages>[0],
  lock: Lock,
  name: string,
): Promise<readonly PackageRecord[]> {
  const others = lock.inputs.filter(
    (input) =>
      input.kind === 'package' && input.name !== name && input.sets?.some((set) => set !== 'tools') === true,
  );
  const versions = await packageVersions(
    apt,
    others.map((other) => other.name),
  );
  const isThere = (input: LockedInput) => versions.get(input.name)?.includes(input.version) === true;
  const found = await describePackages(apt, others.filter(isThere));
  return [
    ...found,
    ...others.filter((input) => !isThere(input)).map((input) => madeUp(input, apt.archive.machine)),
  ];
}

function madeUp({ name, version, sha256, sizeBytes }: LockedInput, machine: string): PackageRecord {
  const text = `Package: ${name}\nVersion: ${version}\nArchitecture: ${machine}\nMaintainer: none\nDescription: locked`;
  const rest = { installedBytes: 0, depends: [], provides: [], path: '', architecture: machine };
  return { name, version, sha256, sizeBytes, text, ...rest };
}

/** The recipe says the new version where it names the package, so that locking it again does not undo the fix. */
function pinned(recipe: Recipe, name: string, version: string): Recipe {
  const pin = <T extends { readonly name: string }>(items: readonly T[] | undefined) =>
    items?.map((item) => (item.name === name ? { ...item, version } : item));
  return {
    ...recipe,
    ...(recipe.base?.packages && { base: { ...recipe.base, packages: pin(recipe.base.packages) ?? [] } }),
    ...(recipe.packages && { packages: pin(recipe.packages) ?? [] }),
    components: recipe.components.map((component) =>
      'package' in sourceOf(component) && packageOf(component) === name
        ? { ...component, version }
        : component,
    ),
  };
}

function unknown(lock: Lock, name: string): ImagoError {
  const known = [...lock.recipe.components.map((one) => one.name), ...lock.inputs.map((one) => one.name)];
  const hint = didYouMean(name, known);
  return new ImagoError('input-invalid', `The lock has no component or package ${name}.`, {
    ...(hint && { hint }),
  });
}
