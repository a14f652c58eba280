// Reads a recipe: puts its files together, checks shape and rules, and tells every mistake with its file, line
// and column.

import { schemaProblems } from '../../document/schema-problems.ts';
import { type Origin, type Tree, toValue, treeAt } from '../../document/yaml-tree.ts';
import { ImagoError } from '../../domain/error/imago-error.ts';
import type { RecipeProblem } from '../../domain/recipe/problem.ts';
import { recipeProblems } from '../../domain/recipe/problems.ts';
import type { Recipe } from '../../domain/recipe/recipe.ts';
import { recipeSchema } from '../../domain/recipe/schema.ts';
import { expandRecipe } from '../../domain/recipe/variables.ts';
import { type ComposeOptions, composeRecipe } from './compose-recipe.ts';

export interface LoadedRecipe {
  /** As it is written, put together and checked; its variables are not written out. */
  readonly recipe: Recipe;
  /** One recipe for each version that it declares: what is locked and built. */
  readonly variants: readonly Recipe[];
  /** With the place of every value. */
  readonly tree: Tree;
}

/** Throws `file-missing`, `recipe-syntax` or `recipe-invalid`, the last with everything that is wrong. */
export async function readRecipe(options: ComposeOptions): Promise<LoadedRecipe> {
  const tree = await composeRecipe(options);
  const value = toValue(tree);
  const checked = recipeSchema.safeParse(value ?? {});
  if (!checked.success) throw invalid(schemaProblems(recipeSchema, checked.error.issues, value ?? {}), tree);
  const { $schema: _, extends: __, ...written } = checked.data;
  // JSON has no `undefined`: what the author left out is absent.
  const recipe = JSON.parse(JSON.stringify(written)) as Recipe;
  const problems = [...leftRemovals(tree), ...recipeRules(recipe)];
  if (problems.length > 0) throw invalid(problems, tree);
  return { recipe, variants: variantsOf(recipe), tree };
}

/** The recipe for each Kubernetes version of its matrix. */
export function variantsOf(recipe: Recipe): readonly Recipe[] {
  const { matrix, ...rest } = recipe;
  return matrix === undefined ? [recipe] : matrix.kubernetes.map((kubernetes) => ({ ...rest, kubernetes }));
}

function recipeRules(recipe: Recipe): readonly RecipeProblem[] {
  const { recipes, problems } = expandRecipe(recipe);
  if (problems.length > 0) return problems;
  const told = new Set<string>();
  return recipes.flatMap(recipeProblems).filter((problem) => {
    const key = JSON.stringify(problem);
    return !told.has(key) && told.add(key);
  });
}

/** A `remove` that is still present removed nothing. */
function leftRemovals(tree: Tree, path: readonly (string | number)[] = []): readonly RecipeProblem[] {
  if (tree.kind === 'list') return tree.items.flatMap((item, index) => leftRemovals(item, [...path, index]));
  if (tree.kind !== 'map') return [];
  return [...tree.entries].flatMap(([key, value]) =>
    key === 'remove' && value.kind === 'value' && value.value === true
      ? [{ path: [...path, key], message: 'there is nothing of that name below to remove' }]
      : leftRemovals(value, [...path, key]),
  );
}

interface PlacedProblem extends Origin {
  readonly path: string;
  readonly message: string;
  readonly hint?: string;
}

function invalid(problems: readonly RecipeProblem[], tree: Tree): ImagoError {
  const placed: PlacedProblem[] = problems.map(({ path, ...problem }) => ({
    path: path.join('.'),
    ...problem,
    ...treeAt(tree, path).origin,
  }));
  const [first] = placed;
  const more = placed.length > 1 ? ` (and ${placed.length - 1} more)` : '';
  const place = first === undefined ? '' : `${first.file}:${first.line}:${first.column}: `;
  return new ImagoError('recipe-invalid', `${place}${first?.message ?? 'the recipe is not valid'}${more}`, {
    ...(first?.hint === undefined ? {} : { hint: first.hint }),
    details: { file: first?.file, problems: placed },
  });
}
