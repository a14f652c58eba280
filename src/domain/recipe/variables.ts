// The few variables of a recipe. `${kubernetes}` and the like stand in versions, sources and places, nowhere
// else: texts of files and units are left alone. An unknown variable is an error; `$${` writes `${`.
import { ImagoError } from '../error/imago-error.ts';
import { didYouMean } from '../value/suggest.ts';
import type { RecipeProblem } from './problem.ts';
import type { Recipe, RecipeComponent } from './recipe.ts';

export type Variables = Readonly<Record<string, string | undefined>>;

export interface Substituted {
  /** With what is unknown left as it is. */
  readonly text: string;
  readonly unknown: readonly string[];
}

export function substitute(text: string, variables: Variables): Substituted {
  const unknown: string[] = [];
  const result = text.replace(
    /\$\$\{|\$\{([^}]*)(\}?)/g,
    (whole, name: string | undefined, end: string | undefined) => {
      if (name === undefined) return `\${`;
      const value = end === '}' ? variables[name] : undefined;
      if (value !== undefined) return value;
      unknown.push(name);
      return whole;
    },
  );
  return { text: result, unknown };
}

export interface Expanded {
  /** One for each Kubernetes version of the matrix; a recipe without one gives itself. */
  readonly recipes: readonly Recipe[];
  readonly problems: readonly RecipeProblem[];
}

/** Debian's and Go's names of the architectures. */
export const machineNames = { x64: 'amd64', arm64: 'arm64' } as const;

/** Writes out matrix and variables. Problems are told once, with the first recipe that has them. */
export function expandRecipe(recipe: Recipe): Expanded {
  const { matrix, ...rest } = recipe;
  const problems = new Map<string, RecipeProblem>();
  const tell = (problem: RecipeProblem) => {
    const key = JSON.stringify([problem.path, problem.message]);
    if (!problems.has(key)) problems.set(key, problem);
  };
  if (matrix !== undefined && recipe.kubernetes !== undefined) {
    tell({
      path: ['matrix'],
      message: 'a recipe has `kubernetes` or a `matrix` over it, not both',
      hint: 'Take one of them out. To build one version of a matrix, name it: `imago build --kubernetes 1.36.2`.',
    });
  }
  const versions = matrix?.kubernetes ?? [recipe.kubernetes];
  if (versions.length === 0) tell({ path: ['matrix', 'kubernetes'], message: 'has no version' });
  if (new Set(versions).size < versions.length) {
    tell({ path: ['matrix', 'kubernetes'], message: 'has a version twice' });
  }
  const recipes = versions.map((kubernetes) =>
    fillIn(kubernetes === undefined ? rest : { ...rest, kubernetes }, tell),
  );
  return { recipes, problems: [...problems.values()] };
}

type Tell = (problem: RecipeProblem) => void;

function fillIn(recipe: Recipe, tell: Tell): Recipe {
  const common: Variables = {
    kubernetes: recipe.kubernetes,
    architecture: recipe.architecture,
    machine: machineNames[recipe.architecture],
  };
  const fill = filler(common, tell);
  return {
    ...recipe,
    ...(recipe.packages && { packages: fill(recipe.packages, ['packages']) }),
    components: recipe.components.map((component, index) =>
      fillComponent(component, common, ['components', index], tell),
    ),
    ...(recipe.images && { images: fill(recipe.images, ['images']) }),
  };
}

/** The parts of a component in which variables are read; `${version}` stays for versions side by side. */
function fillComponent(
  component: RecipeComponent,
  common: Variables,
  path: RecipeProblem['path'],
  tell: Tell,
): RecipeComponent {
  const fill = filler({ ...common, name: component.name }, tell);
  const version = component.version && fill(component.version, [...path, 'version']);
  const all: Variables = { ...common, name: component.name, version: version ?? `\${version}` };
  const fillAll = filler(all, tell);
  return {
    ...component,
    ...(version !== undefined && { version }),
    ...(component.versions && { versions: fill(component.versions, [...path, 'versions']) }),
    ...(component.from && { from: fillAll(component.from, [...path, 'from']) }),
    ...(component.to !== undefined && { to: fillAll(component.to, [...path, 'to']) }),
    ...(component.pick && { pick: fill(component.pick, [...path, 'pick']) }),
  };
}

/** Replaces the variables in every text of a value, and tells those that it does not know. */
function filler(variables: Variables, tell: Tell) {
  return function fill<T>(value: T, path: RecipeProblem['path']): T {
    if (typeof value === 'string') {
      const { text, unknown } = substitute(value, variables);
      for (const name of unknown) tell(unknownVariable(name, variables, path));
      return text as T;
    }
    if (Array.isArray(value)) return value.map((item, index) => fill(item, [...path, index])) as T;
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(
      Object.entries(value).map(([key, item]) => [key, fill(item, [...path, key])]),
    ) as T;
  };
}

function unknownVariable(name: string, variables: Variables, path: RecipeProblem['path']): RecipeProblem {
  const known = Object.keys(variables).filter((key) => variables[key] !== undefined);
  if (name === 'kubernetes') {
    return {
      path,
      message: `\${kubernetes} is used, and the recipe has no Kubernetes version`,
      hint: 'Add `kubernetes: 1.36.2`.',
    };
  }
  return {
    path,
    message: `\${${name}} is not a variable`,
    hint: didYouMean(name, known) ?? `There are ${known.join(', ')}; write $\${ for a plain \${.`,
  };
}

/** A recipe of one Kubernetes version with its variables written out; throws `recipe-invalid` if it cannot be. */
export function expandOne(recipe: Recipe): Recipe {
  const { recipes, problems } = expandRecipe(recipe);
  const [only] = recipes;
  const [problem] = problems;
  if (only !== undefined && recipes.length === 1 && problem === undefined) return only;
  const message =
    problem === undefined
      ? 'the recipe stands for several Kubernetes versions'
      : `${problem.path.join('.')}: ${problem.message}`;
  throw new ImagoError('recipe-invalid', message);
}
