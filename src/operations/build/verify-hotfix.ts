// Proves that a hotfix changed nothing else: what differs between the two disks must follow from what was set. Any other
// difference fails the build before anything is signed or listed.
import { ensureImagoError, ImagoError } from '../../domain/error/imago-error.ts';
import { type Lock, type PackageSet, packagesIn } from '../../domain/lock/lock.ts';
import { componentPlaces } from '../../domain/recipe/places.ts';
import { type RecipeComponent, sourceOf } from '../../domain/recipe/recipe.ts';
import { expandOne } from '../../domain/recipe/variables.ts';
import type { IntendedChanges } from '../../ports/image-store/image-store.ts';
import { type OperationDeps, requireImages } from '../common/deps.ts';
import type { Run } from '../common/operation.ts';

export interface FixedSubject {
  readonly image: string;
  readonly digest: string;
  /** The number of the version that was changed. */
  readonly previous: string;
  /** Of the version that was changed. */
  readonly lockDigest: string;
  /** What it became. */
  readonly lock: Lock;
  /** `COMPONENT=VERSION`. */
  readonly set: readonly string[];
}

/** The proof in the result of a hotfix. */
export interface Proof {
  readonly proven: boolean;
  /** Why it could not be proven. */
  readonly unproven?: string;
}

/** Errors after which the content of a version's disk cannot be determined. */
const unknowable: ReadonlySet<string> = new Set([
  'store-not-found',
  'store-corrupt',
  'inventory-invalid',
  'gpt-invalid',
  'ext4-invalid',
  'ext4-unclean',
  'boot-files-invalid',
]);

/**
 * Throws `hotfix-moved-more` with everything else that changed. If the content of the previous version can no longer be
 * read, the result reports it: a missing proof must not be mistaken for one.
 */
export async function proveHotfix(run: Run, subject: FixedSubject): Promise<Proof> {
  const unproven = await prove(run, subject, run.signal);
  if (unproven === undefined) return { proven: true };
  run.log(`It is not proven that nothing else changed: ${unproven}`);
  return { proven: false, unproven };
}

/** Returns `undefined` if it is proven, else the reason why it cannot be determined. */
async function prove(
  deps: OperationDeps,
  { image, digest, previous, lockDigest, lock, set }: FixedSubject,
  signal: AbortSignal,
): Promise<string | undefined> {
  const { records, locks } = requireImages(deps);
  const before = await deps.catalogue.getVersion(image, previous);
  if (before === undefined) return `${image}:${previous} is no longer in the catalog.`;
  const old = await locks.read(lockDigest);
  const intended = intendedBy(old === undefined ? [lock] : [old, lock], set);
  let moved: readonly string[];
  try {
    const versions = { before: before.digest, after: digest, lock };
    moved = await records.unintended(versions, intended, signal);
  } catch (thrown) {
    const error = ensureImagoError(thrown);
    if (!unknowable.has(error.code)) throw thrown;
    return `it cannot be compared with ${image}:${previous}: ${error.message}`;
  }
  if (moved.length > 0) throw movedMore(`${image}:${previous}`, moved);
  return undefined;
}

const shown = 5;

function movedMore(from: string, moved: readonly string[]): ImagoError {
  const more = moved.length > shown ? ` (and ${moved.length - shown} more)` : '';
  return new ImagoError(
    'hotfix-moved-more',
    `More differs from ${from} than what was set: ${moved.slice(0, shown).join('; ')}${more}.`,
    { details: { moved } },
  );
}

/**
 * Where the set components are on a node, by the rules of the installer: in all the locks, because a place may hold
 * the version.
 */
export function intendedBy(locks: readonly Lock[], set: readonly string[]): IntendedChanges {
  const names = new Set(set.map((word) => word.replace(/=.*$/s, '')));
  const components = locks.flatMap((lock) => expandOne(lock.recipe).components);
  const changed = components.filter(({ name }) => names.has(name));
  const packaged = changed.flatMap((component) => {
    const source = sourceOf(component);
    return 'package' in source ? [source.package] : [];
  });
  const installed: readonly PackageSet[] = ['packages', 'base', 'essential'];
  const plain = locks.flatMap((lock) =>
    installed.flatMap((group) => packagesIn(lock, group).filter(({ name }) => names.has(name))),
  );
  return {
    names: [...names],
    packages: unique([...packaged, ...plain.map(({ name }) => name)]),
    places: unique(changed.flatMap(placesOf)),
    others: unique([
      ...components.filter(({ name }) => !names.has(name)).flatMap(placesOf),
      ...locks.flatMap(({ recipe }) => (recipe.settings.files ?? []).map(({ path }) => path)),
    ]),
  };
}

function placesOf(component: RecipeComponent): readonly string[] {
  const { name, unit, config, pick } = component;
  return [
    `/usr/lib/imago/components/${name}.json`,
    ...componentPlaces(component).map(({ path }) => path),
    ...(unit === undefined ? [] : [`/etc/systemd/system/${unit.name ?? `${name}.service`}`]),
    ...(config ?? []).map(({ path }) => path),
    ...(pick === undefined ? [] : [pick.link]),
  ];
}

function unique(texts: readonly string[]): readonly string[] {
  return [...new Set(texts)];
}
