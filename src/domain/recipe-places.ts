// No two things of a recipe stand on one path. Trees of files may share folders; that they bring no file twice
// is seen when they are unpacked.
import { type Recipe, type RecipeComponent, sourceKind, sourceOf, versionsOf } from './recipe.ts';
import { destinationProblem, splitDestination } from './recipe-destination.ts';
import type { RecipeProblem } from './recipe-problem.ts';
import { substitute } from './recipe-variables.ts';
import type { OperatingSystem } from './version.ts';

interface Place {
  readonly who: string;
  readonly path: string;
  readonly kind: 'file' | 'tree';
  readonly at: RecipeProblem['path'];
}

export function placeProblems(recipe: Recipe): readonly RecipeProblem[] {
  const { os } = recipe;
  const places = allPlaces(recipe).filter(({ path }) => destinationProblem(os, path) === undefined);
  return places.flatMap((place, index) => {
    const other = places.slice(0, index).find((earlier) => overlap(os, earlier, place));
    if (other === undefined) return [];
    return [
      {
        path: place.at,
        message: `${place.who} and ${other.who} would stand on one path: ${place.path} and ${other.path}`,
      },
    ];
  });
}

/** Where each version of a component goes. */
export function componentPlaces(component: RecipeComponent): readonly { version: string; path: string }[] {
  const { to } = component;
  if (to === undefined) return [];
  return versionsOf(component).map((version) => ({ version, path: substitute(to, { version }).text }));
}

function allPlaces(recipe: Recipe): readonly Place[] {
  const components = recipe.components.flatMap((component, index) => componentParts(component, index));
  const files = (recipe.settings.files ?? []).map(({ path }, index) => ({
    who: `the file ${path}`,
    path,
    kind: 'file' as const,
    at: ['settings', 'files', index],
  }));
  return [...components, ...files];
}

function componentParts(component: RecipeComponent, index: number): readonly Place[] {
  const { name, pick, config = [] } = component;
  const source = sourceKind(sourceOf(component));
  const kind: Place['kind'] = source === 'url' || source === 'file' ? 'file' : 'tree';
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
  ];
}

/** The same path, or one below a file, which is no folder. */
function overlap(os: OperatingSystem, a: Place, b: Place): boolean {
  const first = splitDestination(os, a.path);
  const second = splitDestination(os, b.path);
  const shared = Math.min(first.length, second.length);
  if (first.slice(0, shared).join('/') !== second.slice(0, shared).join('/')) return false;
  if (first.length === second.length) return a.kind === 'file' || b.kind === 'file';
  return (first.length < second.length ? a : b).kind === 'file';
}
