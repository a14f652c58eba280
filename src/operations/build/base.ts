// The version that a machine build starts from: found once, when the recipe is locked, and from then on the same.
import { baseOf } from '../../domain/build/machine-plan.ts';
import { ensureImagoError, ImagoError } from '../../domain/error/imago-error.ts';
import { requireUsable } from '../../domain/image/version-state.ts';
import type { Lock, LockedInput } from '../../domain/lock/lock.ts';
import type { Recipe } from '../../domain/recipe/recipe.ts';
import type { VersionRecord } from '../../ports/database/catalog.ts';
import type { Builder } from '../../ports/provider/builder.ts';
import type { OperationDeps } from '../common/deps.ts';
import type { Reading, Run } from '../common/operation.ts';

interface LockWish {
  readonly recipe: Recipe;
  /** What is committed next to the recipe. */
  readonly previous?: Lock | undefined;
  readonly exact?: boolean | undefined;
  readonly newest?: boolean | undefined;
}

/** Locks the recipe, with its base if it has one. */
export async function lockWith(run: Run, builder: Builder, wish: LockWish): Promise<Lock> {
  const { recipe, previous, exact, newest } = wish;
  const base = await resolveBase(run, recipe, newest === true ? undefined : previous);
  if (newest === true && builder.tools !== undefined)
    return builder.tools.relock(recipe, run, { ...run.call, base });
  return builder.lock(recipe, run, { ...run.call, previous, exact, base });
}

/**
 * The base as an input of the lock: that of the previous lock as long as the recipe names the same one. `undefined` for a
 * recipe without a base, and for a Windows disk that is not in the catalog: such a lock can be read, not built.
 */
export async function resolveBase(
  { catalogue }: Pick<Reading, 'catalogue'>,
  { method, base, os }: Pick<Recipe, 'method' | 'base' | 'os'>,
  previous: Lock | undefined,
): Promise<LockedInput | undefined> {
  const reference = base?.image;
  if (method !== 'machine' || reference === undefined) return undefined;
  const source = `image:${reference}`;
  const kept = previous && baseOf(previous);
  if (kept?.source === source) return kept;
  try {
    const { image, version } = await catalogue.resolve(reference);
    const found = await catalogue.getVersion(image, version);
    if (found === undefined) throw new ImagoError('version-not-found', `There is no ${image}:${version}.`);
    requireUsable(found);
    const { digest, sizeBytes } = found;
    return { kind: 'base', name: image, version, sha256: digest.replace('sha256:', ''), sizeBytes, source };
  } catch (thrown) {
    const { code, message } = ensureImagoError(thrown);
    if (code !== 'image-not-found') throw thrown;
    if (os === 'windows') return undefined;
    throw new ImagoError('image-not-found', message, {
      hint: `Build it, or bring its disk in: \`imago image import FILE --name ${reference.replace(/[:@].*$/, '')}\`.`,
    });
  }
}

/** The base of a lock as the catalog has it now. Throws if nothing can be built from it now. */
export async function requireBase(
  { catalogue }: Pick<OperationDeps, 'catalogue'>,
  base: LockedInput,
): Promise<VersionRecord> {
  const found = await catalogue.getVersion(base.name, base.version);
  const hint = 'Lock the recipe again: `imago recipe lock --newest`.';
  if (found === undefined) {
    const message = `The lock has the base ${base.name}:${base.version}, which does not exist here.`;
    throw new ImagoError('version-not-found', message, { hint });
  }
  if (found.digest !== `sha256:${base.sha256}`) {
    const message = `${base.name}:${base.version} is ${found.digest}, and the lock has sha256:${base.sha256}.`;
    throw new ImagoError('lock-stale', message, { hint });
  }
  requireUsable(found);
  return found;
}
