// Resolves a recipe to a lock: every input with its exact version, sha256, size and source. Given the lock from
// before, only what the recipe changed is resolved again, so that a changed setting does not bring a new
// libc along; what lies beside the recipe is always looked at.

import { mapLimit } from '../../async/map-limit.ts';
import { type Lock, type LockedInput, lockText, makeLock } from '../../domain/lock/lock.ts';
import { checkRecipe } from '../../domain/recipe/problems.ts';
import type { Recipe } from '../../domain/recipe/recipe.ts';
import { expandOne } from '../../domain/recipe/variables.ts';
import type { LockContext } from './context.ts';
import { refuseCoveredFiles } from './covered-files.ts';
import { lockParts } from './parts.ts';
import { buildEpoch, buildRules } from './rules.ts';
import { requireKept, staleLock } from './stale-lock.ts';

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
