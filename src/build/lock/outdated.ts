// What is behind: packages by the distribution's index, other components by the page that their recipe names.

import { ensureImagoError } from '../../domain/errors.ts';
import { inputsOf, type Lock, type LockedInput } from '../../domain/lock.ts';
import { compareLoosely, isWithin } from '../../domain/loose-version.ts';
import type { Recipe, RecipeComponent } from '../../domain/recipe.ts';
import { componentKind, versionsOf } from '../../domain/recipe.ts';
import { expandOne } from '../../domain/recipe-variables.ts';
import { mapLimit } from '../../images/store/registry/map-limit.ts';
import { withApt } from '../debian/apt-workspace.ts';
import { packageVersions } from '../debian/solve-packages.ts';
import type { LockContext } from './lock-context.ts';
import { archiveWish, wantedPackages } from './resolve-packages.ts';

export interface OutdatedInput {
  readonly kind: LockedInput['kind'];
  readonly name: string;
  readonly current: string;
  readonly newest: string;
  /** Whether the recipe names it, or it only comes along. */
  readonly named: boolean;
}

export interface OutdatedReport {
  readonly behind: readonly OutdatedInput[];
  /** Names that could not be looked up, and why. */
  readonly unknown: readonly { readonly name: string; readonly why: string }[];
}

const maxPage = 8 * 1024 * 1024;

export async function findOutdated(lock: Lock, context: LockContext): Promise<OutdatedReport> {
  const recipe = expandOne(lock.recipe);
  const unknown: { name: string; why: string }[] = [];
  const packages = recipe.method === 'machine' ? [] : await outdatedPackages(recipe, lock, context);
  const ruled = recipe.components.filter((component) => component.updates !== undefined);
  const components = await mapLimit(ruled, 4, async (component) => {
    try {
      return await outdatedComponent(component, context);
    } catch (error) {
      unknown.push({ name: component.name, why: ensureImagoError(error).message });
      return [];
    }
  });
  return { behind: [...components.flat(), ...packages], unknown };
}

async function outdatedPackages(
  recipe: Recipe,
  lock: Lock,
  context: LockContext,
): Promise<readonly OutdatedInput[]> {
  const packages = inputsOf(lock, 'package').filter(
    ({ sets }) => sets?.some((set) => set !== 'tools') === true,
  );
  const wanted = new Set(
    [...(recipe.base?.packages ?? []), ...wantedPackages(recipe)].map(({ name }) => name),
  );
  const archive = await context.findArchive(archiveWish(recipe));
  const versions = await withApt(
    { cacheFolder: context.cacheFolder, archive, signal: context.signal },
    (apt) =>
      packageVersions(
        apt,
        packages.map(({ name }) => name),
      ),
  );
  return packages.flatMap(({ kind, name, version }) => {
    const [newest] = versions.get(name) ?? [];
    if (newest === undefined || newest === version) return [];
    return [{ kind, name, current: version, newest, named: wanted.has(name) }];
  });
}

async function outdatedComponent(
  component: RecipeComponent,
  context: LockContext,
): Promise<readonly OutdatedInput[]> {
  const { updates } = component;
  if (updates === undefined) return [];
  const label = `The page of ${component.private === true ? 'a private component' : component.name}`;
  const page = await context.downloads.fetch({
    url: updates.page,
    label,
    signal: context.signal,
  });
  if (page.sizeBytes > maxPage) return [];
  const text = (await context.inputs.readBytes(page)).toString('utf8');
  const found = [...text.matchAll(new RegExp(updates.pattern, 'gm'))].flatMap((match) => match[1] ?? []);
  return versionsOf(component).flatMap((current) => {
    const newer = found.filter(
      (version) =>
        compareLoosely(version, current) > 0 && isWithin(current, version, updates.within ?? 'patch'),
    );
    const [newest] = newer.sort((a, b) => compareLoosely(b, a));
    if (newest === undefined) return [];
    return [{ kind: componentKind(component), name: component.name, current, newest, named: true }];
  });
}
