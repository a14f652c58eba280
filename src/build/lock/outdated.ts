// What is behind: packages by the distribution's index, other components by the page that their recipe names.

import { mapLimit } from '../../async/map-limit.ts';
import { ensureImagoError } from '../../domain/error/imago-error.ts';
import { inputsOf, type Lock } from '../../domain/lock/lock.ts';
import { isLocal } from '../../domain/recipe/local-path.ts';
import type { Recipe, RecipeComponent } from '../../domain/recipe/recipe.ts';
import { componentKind, sourceOf, versionsOf } from '../../domain/recipe/recipe.ts';
import { expandOne } from '../../domain/recipe/variables.ts';
import { compareLoosely, isWithin } from '../../domain/value/loose-version.ts';
import { privateInputs } from '../../inventory/model/redact.ts';
import type { Outdated } from '../../ports/provider/builder.ts';
import { withApt } from '../debian/apt-workspace.ts';
import { compareDebianVersions } from '../debian/compare-versions.ts';
import { packageVersions } from '../debian/solve-packages.ts';
import type { LockContext } from './context.ts';
import { matchPage } from './match-page.ts';
import { wantedPackages } from './resolve-packages.ts';
import { archiveWish } from './signed-packages.ts';

type OutdatedInput = Outdated['behind'][number];

const maxPage = 8 * 1024 * 1024;

export async function findOutdated(lock: Lock, context: LockContext): Promise<Outdated> {
  const recipe = expandOne(lock.recipe);
  const unknown: { name: string; why: string }[] = [];
  const packages = recipe.method === 'machine' ? [] : await outdatedPackages(recipe, lock, context);
  const ruled = recipe.components.filter((component) => component.updates !== undefined);
  const components = await mapLimit(ruled, 4, async (component) => {
    try {
      return await outdatedComponent(component, context);
    } catch (error) {
      unknown.push({ name: component.name, why: reasonOf(component, error) });
      return [];
    }
  });
  const secrets = privateInputs(lock);
  const redact = <T extends { readonly name: string }>(item: T): T => {
    const secret = secrets.find(({ names }) => names.includes(item.name));
    return secret === undefined ? item : { ...item, name: secret.alias };
  };
  return {
    behind: [...components.flat(), ...packages].map(redact),
    unknown: unknown.map(redact),
    unruled: unruled(recipe)
      .map(redact)
      .map(({ name }) => name),
  };
}

/** What lies beside the recipe is what its owner wants, and so is an image that is named by its digest. */
function unruled({ components, images = [] }: Recipe): readonly { readonly name: string }[] {
  const isElsewhere = (component: RecipeComponent) => {
    const source = sourceOf(component);
    if ('url' in source) return true;
    if ('tar' in source) return !isLocal(source.tar);
    return 'oci' in source && source.layout === undefined;
  };
  return [
    ...components.filter((component) => component.updates === undefined && isElsewhere(component)),
    ...images.filter(({ from }) => from === undefined || ('registry' in from && from.digest === undefined)),
  ];
}

/** A network error can contain the address, and that of a private component is redacted. */
function reasonOf(component: RecipeComponent, error: unknown): string {
  const { code, message } = ensureImagoError(error);
  return component.private === true ? `Its page could not be used (${code}).` : message;
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
  const versions = await withApt(archive, context, (apt) =>
    packageVersions(
      apt,
      packages.map(({ name }) => name),
    ),
  );
  return packages.flatMap(({ kind, name, version }) => {
    const newest = newerPackage(version, versions.get(name) ?? []);
    return newest === undefined ? [] : [{ kind, name, current: version, newest, named: wanted.has(name) }];
  });
}

/** The newest of those that are newer. An archive that went back, or a mirror that lags, leaves nothing behind. */
export function newerPackage(current: string, found: readonly string[]): string | undefined {
  const newer = found.filter((version) => compareDebianVersions(version, current) > 0);
  return newer.sort((a, b) => compareDebianVersions(b, a))[0];
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
    maxBytes: maxPage,
    signal: context.signal,
  });
  const text = (await context.inputs.readBytes(page)).toString('utf8');
  const found = await matchPage(updates.pattern, text, context.signal);
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
