// A lock that no longer matches its recipe: refused, with what differs, where a build from the lock alone was
// asked for.
import { ImagoError } from '../../domain/error/imago-error.ts';
import type { Lock } from '../../domain/lock/lock.ts';
import { whyVersion } from '../../domain/lock/reason.ts';
import { type Recipe, withoutPlace } from '../../domain/recipe/recipe.ts';
import type { LockPart } from './parts.ts';
import { buildRules } from './rules.ts';

/** Throws `lock-stale` when anybody would have to be asked, or there is no lock. */
export function requireKept(recipe: Recipe, parts: readonly LockPart[], previous: Lock | undefined): void {
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
export function staleLock(
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
