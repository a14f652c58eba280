// Recipes, before anything is built.
import { lockRequest, recipeRequest, shownRecipe } from '../schemas/recipe.ts';
import { endpoints, operation, query } from './endpoint.ts';

export const recipeContract = endpoints('Recipes', {
  showRecipe: query(
    'POST /v1/recipes/show',
    'Validate a recipe and compose it, with the source file and line of every value',
    { role: 'viewer', body: recipeRequest, response: shownRecipe },
  ),
  lockRecipe: operation(
    'POST /v1/recipes/lock',
    'Resolve every input of a recipe to an exact version, sha256, and size',
    {
      role: 'publisher',
      body: lockRequest,
      description: 'The result has the `text` of the lock, to be committed next to the recipe.',
    },
  ),
  findOutdated: operation('POST /v1/recipes/outdated', 'Find inputs of a recipe that have newer versions', {
    role: 'publisher',
    body: recipeRequest,
  }),
  explainRebuild: operation(
    'POST /v1/recipes/why-rebuild',
    'Show which layers a build would rebuild, and which inputs changed',
    { role: 'publisher', body: recipeRequest },
  ),
});
