// Solves packages so that those of an earlier lock stay what they were: one more package on the list must not bring a
// new libc along. What the archive no longer has, or what is incompatible otherwise, moves, and is reported.
import { ImagoError } from '../../domain/error/imago-error.ts';
import { inputKey, type LockedInput } from '../../domain/lock/lock.ts';
import type { Recipe } from '../../domain/recipe/recipe.ts';
import { type AptWorkspace, type ExactPackage, withApt } from '../debian/apt-workspace.ts';
import type { LockContext } from './context.ts';
import { solveAll, wantedPackages } from './resolve-packages.ts';
import { archiveOf, archiveWish, lockIndexes, rememberVerified, toolsWish } from './signed-packages.ts';

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
  return withApt(archive, context, async (apt) => {
    const solve = async (toolsApt: AptWorkspace) => {
      const found = await solveKeeping(apt, recipe, before, context.log, toolsApt);
      const inputs = await withIndexes(apt, toolsApt, recipe, found, context);
      await rememberVerified({ recipe, inputs }, context);
      return inputs;
    };
    if (archiveOf(recipe) === 'debian') return solve(apt);
    const toolsArchive = await context.findArchive(toolsWish(recipe));
    return withApt(toolsArchive, context, solve);
  });
}

/** With the parts of the signed index that list them. A package that the node and the build use is listed in both. */
async function withIndexes(
  apt: AptWorkspace,
  toolsApt: AptWorkspace,
  recipe: Recipe,
  found: readonly LockedInput[],
  context: LockContext,
): Promise<readonly LockedInput[]> {
  if (archiveOf(recipe) === 'debian') return lockIndexes(apt, 'debian', found, context);
  const own = found.filter(({ sets }) => sets?.some((set) => set !== 'tools') === true);
  const tools = found.filter(({ sets }) => sets?.includes('tools') === true);
  const ownLocked = await lockIndexes(apt, 'apt', own, context);
  const toolsLocked = await lockIndexes(toolsApt, 'debian', tools, context);
  const known = new Set(ownLocked.map(inputKey));
  return [...ownLocked, ...toolsLocked.filter((input) => !known.has(inputKey(input)))];
}

/** Without `before` it is the newest of everything. */
export async function solveKeeping(
  apt: AptWorkspace,
  recipe: Recipe,
  before: readonly LockedInput[],
  log: (line: string) => void,
  toolsApt = apt,
): Promise<readonly LockedInput[]> {
  const kept = lockedVersions(before);
  const prefer = (packages: readonly ExactPackage[]) => {
    for (const one of new Set([apt, toolsApt])) one.prefer(packages);
  };
  prefer([]);
  const newest = await solveNewest(apt, recipe, kept.size === 0, toolsApt);
  if (newest !== undefined && isKept(newest, kept)) return newest;
  for (;;) {
    prefer([...kept].map(([name, version]) => ({ name, version })));
    try {
      const found = await solveAll(apt, recipe, toolsApt);
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
  toolsApt: AptWorkspace,
): Promise<readonly LockedInput[] | undefined> {
  try {
    return await solveAll(apt, recipe, toolsApt);
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
      ? 'the archive no longer has it'
      : 'it does not go together with the others otherwise';
    return first.private === true
      ? [`a private package moved: ${why}`]
      : [`${name} ${version} → ${first.version}: ${why}`];
  });
  const more = lines.length - mostLines;
  return [...lines.slice(0, mostLines), ...(more > 0 ? [`and ${more} more packages moved`] : [])];
}
