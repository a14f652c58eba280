// Recipes, before anything is built.
import { recipeRequest } from '../../domain/recipe/operations.ts';
import { placedFiles, placeFilesRequest, shownRecipe, storedFiles } from '../schemas/recipe.ts';
import { endpoints, query, write } from './endpoint.ts';

export const recipeContract = endpoints('Recipes', {
  showRecipe: query(
    'POST /v1/recipes/show',
    'Validate a recipe and compose it, with the source file and line of every value',
    { role: 'viewer', body: recipeRequest, response: shownRecipe },
  ),
  sendRecipeFiles: write(
    'POST /v1/recipes/files',
    "Send files of a recipe from another host than the daemon's",
    {
      role: 'publisher',
      response: storedFiles,
      stream: 'upload',
      description:
        'The body has each file as a line with its sha256 and its size in bytes, then its bytes. Files are kept in the ' +
        'build cache until they were unused for the longest time.',
    },
  ),
  placeRecipeFiles: write(
    'POST /v1/recipes/folders',
    "Create a recipe's directory from files that were sent, or list those that are missing",
    { role: 'publisher', body: placeFilesRequest, response: placedFiles },
  ),
});
