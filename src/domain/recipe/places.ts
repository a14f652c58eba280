// No two things of a recipe stand on one path, and none where Imago itself writes. Trees of files may share folders;
// that they bring no file twice is seen when they are unpacked.

import type { OperatingSystem } from '../image/version.ts';
import { destinationProblem, splitDestination } from './destination.ts';
import type { RecipeProblem } from './problem.ts';
import type { UnitSetting } from './recipe.ts';
import { type Recipe, type RecipeComponent, sourceKind, sourceOf, versionsOf } from './recipe.ts';
import { mergedUsr, ownPaths } from './reserved-paths.ts';
import { substitute } from './variables.ts';

/** Something of a recipe that stands on a path of the node. */
export interface RecipePlace {
  /** For sentences. */
  readonly who: string;
  readonly path: string;
  readonly kind: 'file' | 'tree';
  /** Where the recipe says so. */
  readonly at: RecipeProblem['path'];
}

export function placeProblems(recipe: Recipe): readonly RecipeProblem[] {
  const { os } = recipe;
  const places = recipePlaces(recipe).filter(({ path }) => destinationProblem(os, path) === undefined);
  const taken = os === 'linux' ? ownPaths.map(ownPlace) : [];
  return places.flatMap((place, index) => {
    const other = [...taken, ...places.slice(0, index)].find((earlier) => overlap(os, earlier, place));
    if (other === undefined) return [];
    return [
      {
        path: place.at,
        message: `${place.who} and ${other.who} would stand on one path: ${place.path} and ${other.path}`,
      },
    ];
  });
}

/** As a file: nothing goes below it either. */
function ownPlace({ path, owner }: (typeof ownPaths)[number]): RecipePlace {
  return { who: owner, path, kind: 'file', at: [] };
}

/** Where each version of a component goes. */
export function componentPlaces(component: RecipeComponent): readonly { version: string; path: string }[] {
  const { to } = component;
  if (to === undefined) return [];
  return versionsOf(component).map((version) => ({ version, path: substitute(to, { version }).text }));
}

/** Everything that the recipe, which must be expanded, puts on a path. */
export function recipePlaces(recipe: Recipe): readonly RecipePlace[] {
  const components = recipe.components.flatMap((component, index) => componentParts(component, index));
  const files = (recipe.settings.files ?? []).map(({ path }, index) => ({
    who: `the file ${path}`,
    path,
    kind: 'file' as const,
    at: ['settings', 'files', index],
  }));
  return [...components, ...files, ...(recipe.settings.units ?? []).flatMap(unitParts)];
}

const unitFolder = '/etc/systemd/system';

/** Masking and enabling is said about a unit of somebody else, and puts no second one there. */
function unitParts(unit: UnitSetting, index: number): readonly RecipePlace[] {
  const at = ['settings', 'units', index];
  const path = `${unitFolder}/${unit.name}`;
  const who = `the unit ${unit.name} of the settings`;
  const own = unit.content !== undefined || unit.file !== undefined;
  return [
    ...(own ? [{ who, path, kind: 'file' as const, at }] : []),
    ...(unit.dropIn === undefined
      ? []
      : [{ who: `the drop-in of ${who}`, path: `${path}.d/50-imago.conf`, kind: 'file' as const, at }]),
  ];
}

/** The name of a component's unit, which is the component's own when the recipe gives none. */
function unitName({ name, unit }: RecipeComponent): string {
  return unit?.name ?? `${name}.service`;
}

function componentParts(component: RecipeComponent, index: number): readonly RecipePlace[] {
  const { name, pick, unit, config = [] } = component;
  const source = sourceKind(sourceOf(component));
  const kind: RecipePlace['kind'] = source === 'url' || source === 'file' ? 'file' : 'tree';
  const several = component.versions !== undefined;
  return [
    ...componentPlaces(component).map(({ version, path }) => ({
      who: several ? `${name} ${version}` : name,
      path,
      kind,
      at: ['components', index, 'to'],
    })),
    ...(pick === undefined
      ? []
      : [
          {
            who: `the link of ${name}`,
            path: pick.link,
            kind: 'file' as const,
            at: ['components', index, 'pick'],
          },
        ]),
    ...config.map(({ path }, number) => ({
      who: `a file of ${name}`,
      path,
      kind: 'file' as const,
      at: ['components', index, 'config', number],
    })),
    ...(unit === undefined
      ? []
      : [
          {
            who: `the unit of ${name}`,
            path: `${unitFolder}/${unitName(component)}`,
            kind: 'file' as const,
            at: ['components', index, 'unit'],
          },
        ]),
  ];
}

/** The same path, or one below a file, which is no folder. */
function overlap(os: OperatingSystem, a: RecipePlace, b: RecipePlace): boolean {
  const first = namesOf(os, a.path);
  const second = namesOf(os, b.path);
  const shared = Math.min(first.length, second.length);
  if (first.slice(0, shared).join('/') !== second.slice(0, shared).join('/')) return false;
  if (first.length === second.length) return a.kind === 'file' || b.kind === 'file';
  return (first.length < second.length ? a : b).kind === 'file';
}

function namesOf(os: OperatingSystem, path: string): readonly string[] {
  const names = splitDestination(os, path);
  return os === 'linux' ? mergedUsr(names) : names;
}
