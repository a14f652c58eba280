// Resolves a recipe to a lock: every input with its exact version, sha256, size and source. Given the lock from
// before, only what the recipe changed is resolved again, so that a changed setting does not bring a new
// libc along; what lies beside the recipe is always looked at.
import { mapLimit } from '../../async/map-limit.ts';
import { ImagoError } from '../../domain/error/imago-error.ts';
import { type Lock, type LockedInput, lockText, makeLock } from '../../domain/lock/lock.ts';
import { whyVersion } from '../../domain/lock/reason.ts';
import { checkRecipe } from '../../domain/recipe/problems.ts';
import { type Recipe, withoutPlace } from '../../domain/recipe/recipe.ts';
import { expandOne } from '../../domain/recipe/variables.ts';
import type { LockContext } from './context.ts';
import { refuseCoveredFiles } from './covered-files.ts';
import { type LockPart, lockParts } from './parts.ts';
import { buildEpoch, buildRules } from './rules.ts';

export interface LockRules {
  /** Requires that the previous lock matches the recipe: nothing is resolved. */
  readonly exact?: boolean | undefined;
}

/** For one Kubernetes version. Reads from outside, writes nothing but caches. With `exact` throws `lock-stale`. */
export async function lockRecipe(
  recipe: Recipe,
  context: LockContext,
  previous?: Lock,
  { exact = false }: LockRules = {},
): Promise<Lock> {
  const whole = expandOne(recipe);
  checkRecipe(whole);
  const parts = lockParts(whole, context, previous);
  if (exact) requireKept(recipe, parts, previous);
  let done = 0;
  const found = await mapLimit(parts, 4, async ({ what, kept, resolve }) => {
    context.progress(done, parts.length, what);
    const inputs: readonly LockedInput[] = kept ?? (await resolve());
    done += 1;
    context.progress(done, parts.length, what);
    return inputs;
  });
  await refuseCoveredFiles(whole, found.flat(), context);
  const lock = makeLock(recipe, found.flat(), { rules: buildRules, epoch: buildEpoch });
  if (exact && previous !== undefined && lockText(lock) !== lockText(previous))
    throw staleLock(recipe, previous, lock);
  return lock;
}

/** Throws `lock-stale` when anybody would have to be asked, or there is no lock. */
function requireKept(recipe: Recipe, parts: readonly LockPart[], previous: Lock | undefined): void {
  if (previous === undefined) {
    const version = recipe.kubernetes === undefined ? '' : ` for Kubernetes ${recipe.kubernetes}`;
    throw new ImagoError('lock-stale', `There is no lock of ${recipe.name}${version}.`);
  }
  const open = parts.filter(({ kept, local }) => kept === undefined && !local);
  if (open.length === 0) return;
  const names = open.map(({ what }) => what.replace(/^resolving /, ''));
  throw staleLock(recipe, previous, { ...previous, recipe: withoutPlace(recipe), rules: buildRules }, names);
}

/** What differs is in `details.changes`; private inputs are not named. */
function staleLock(
  { name }: Recipe,
  previous: Lock,
  now: Lock,
  unresolved: readonly string[] = [],
): ImagoError {
  const changes = [
    ...unresolved.map((what) => `${what}: not as in the lock`),
    ...whyVersion(previous, now).changes.map(({ sentence }) => sentence),
  ];
  return new ImagoError('lock-stale', `The lock is not the one of ${name}: ${changes[0] ?? 'it differs'}.`, {
    details: { changes },
  });
}
