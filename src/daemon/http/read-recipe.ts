// A recipe that came as text in a request: one file, with nothing beside it that it could extend.
import { readRecipe as readRecipeFiles } from '../../build/recipe/read-recipe.ts';
import { ImagoError } from '../../domain/errors.ts';
import type { Recipe } from '../../domain/recipe.ts';

/** Throws `recipe-syntax` or `recipe-invalid`, with everything that is wrong in the details. */
export async function readRecipe(text: string, file = 'recipe'): Promise<Recipe> {
  const files = { read: async (path: string) => (path === file ? text : undefined) };
  const { variants } = await readRecipeFiles({ file, files });
  const [variant] = variants;
  if (variant !== undefined && variants.length === 1) return variant;
  throw new ImagoError('recipe-invalid', `${file}: the matrix stands for ${variants.length} versions.`, {
    hint: 'Build them one by one: write `kubernetes: VERSION` in place of the matrix.',
  });
}
