// Recipes, before anything is built.
import { recipeRequest } from '../../domain/recipe/operations.ts';
import { shownRecipe } from '../schemas/recipe.ts';
import { endpoints, query } from './endpoint.ts';

export const recipeContract = endpoints('Recipes', {
  showRecipe: query(
    'POST /v1/recipes/show',
    'Validate a recipe and compose it, with the source file and line of every value',
    { role: 'viewer', body: recipeRequest, response: shownRecipe },
  ),
});
