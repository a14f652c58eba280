// Solves packages so that those of an earlier lock stay what they were: one more package on the list must not bring a
// new libc along. What the archive has forgotten, or what does not go together otherwise, moves, and is told.
import { ImagoError } from '../../domain/error/imago-error.ts';
import type { LockedInput } from '../../domain/lock/lock.ts';
import type { Recipe } from '../../domain/recipe/recipe.ts';
import { type AptWorkspace, withApt } from '../debian/apt-workspace.ts';
import type { LockContext } from './context.ts';
import { archiveWish, solveAll, wantedPackages } from './resolve-packages.ts';

const mostLines = 20;

/**
 * The recipe must be expanded. Packages of `before` keep their versions as long as the archive has them and they go
 * together. Reads the archive's index; writes nothing but the index's cache.
 */
export async function resolvePackages(
  recipe: Recipe,
  context: LockContext,
  before: readonly LockedInput[] = [],
): Promise<readonly LockedInput[]> {
  const archive = await context.findArchive(archiveWish(recipe));
  const { cacheFolder, signal, log } = context;
  return withApt({ cacheFolder, archive, signal }, (apt) => solveKeeping(apt, recipe, before, log));
}

/** Without `before` it is the newest of everything. */
export async function solveKeeping(
  apt: AptWorkspace,
  recipe: Recipe,
  before: readonly LockedInput[],
  log: (line: string) => void,
): Promise<readonly LockedInput[]> {
  const kept = lockedVersions(before);
  const newest = await solveNewest(apt, recipe, kept.size === 0);
  if (newest !== undefined && isKept(newest, kept)) return newest;
  for (;;) {
    apt.prefer([...kept].map(([name, version]) => ({ name, version })));
    try {
      const found = await solveAll(apt, recipe);
      for (const line of movedLines(recipe, before, found, kept)) log(line);
      return found;
    } catch (error) {
      if (!(error instanceof ImagoError) || error.code !== 'package-conflict' || kept.size === 0) throw error;
      release(kept, error);
    }
  }
}

/**
 * The archive mostly has nothing newer, and what was solved of it before need not be solved again. Undefined when it
 * does not go together, unless that is for the caller to know.
 */
async function solveNewest(
  apt: AptWorkspace,
  recipe: Recipe,
  isLast: boolean,
): Promise<readonly LockedInput[] | undefined> {
  apt.prefer([]);
  try {
    return await solveAll(apt, recipe);
  } catch (error) {
    if (!isLast && error instanceof ImagoError && error.code === 'package-conflict') return undefined;
    throw error;
  }
}

function isKept(found: readonly LockedInput[], kept: ReadonlyMap<string, string>): boolean {
  return found.every(
    ({ kind, name, version }) => kind !== 'package' || (kept.get(name) ?? version) === version,
  );
}

/** A name that is locked twice has another version for the build's own tools. */
function lockedVersions(before: readonly LockedInput[]): Map<string, string> {
  const isTool = ({ sets }: LockedInput) => sets?.every((set) => set === 'tools') === true;
  const packages = before.filter(({ kind }) => kind === 'package');
  return new Map(
    [...packages.filter(isTool), ...packages.filter((one) => !isTool(one))].map((one) => [
      one.name,
      one.version,
    ]),
  );
}

/** Lets those go that the solver stumbled over; all when it does not say which. */
function release(kept: Map<string, string>, { details }: ImagoError): void {
  const blocked = Array.isArray(details?.blocked) ? (details.blocked as readonly unknown[]) : [];
  const names = blocked.filter((name): name is string => typeof name === 'string' && kept.has(name));
  if (names.length === 0) kept.clear();
  for (const name of names) kept.delete(name);
}

function movedLines(
  recipe: Recipe,
  before: readonly LockedInput[],
  found: readonly LockedInput[],
  kept: ReadonlyMap<string, string>,
): readonly string[] {
  const asked = new Set(
    [...(recipe.base?.packages ?? []), ...wantedPackages(recipe)]
      .filter(({ version }) => version !== undefined)
      .map(({ name }) => name),
  );
  const lines = [...lockedVersions(before)].flatMap(([name, version]) => {
    const now = found.filter((one) => one.kind === 'package' && one.name === name);
    const [first] = now;
    if (first === undefined || asked.has(name) || now.some((one) => one.version === version)) return [];
    const why = kept.has(name)
      ? 'the archive does not have it any more'
      : 'it does not go together with the others otherwise';
    return first.private === true
      ? [`a private package moved: ${why}`]
      : [`${name} ${version} → ${first.version}: ${why}`];
  });
  const more = lines.length - mostLines;
  return [...lines.slice(0, mostLines), ...(more > 0 ? [`and ${more} more packages moved`] : [])];
}
