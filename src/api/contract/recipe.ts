// Recipes, before anything is built.
import { operation } from '../schemas/operation.ts';
import { lockRequest, recipeRequest, shownRecipe } from '../schemas/recipe.ts';
import { endpoint } from './endpoint.ts';

export const recipesContract = {
  showRecipe: endpoint({
    tag: 'Recipes',
    summary: 'Check a recipe and put it together, with the place of every value',
    role: 'viewer',
    effect: 'query',
    body: recipeRequest,
    status: 200,
    response: shownRecipe,
  }),
  lockRecipe: endpoint({
    tag: 'Recipes',
    summary: 'Resolve every input of a recipe to an exact version, sha256 and size',
    description: 'The result has the `text` of the lock, to be committed beside the recipe.',
    role: 'publisher',
    effect: 'operation',
    body: lockRequest,
    status: 202,
    response: operation,
  }),
  findOutdated: endpoint({
    tag: 'Recipes',
    summary: 'Find inputs of a recipe that are behind',
    role: 'publisher',
    effect: 'operation',
    body: recipeRequest,
    status: 202,
    response: operation,
  }),
  explainRebuild: endpoint({
    tag: 'Recipes',
    summary: 'Tell which layers a build would make anew, and which inputs are why',
    role: 'publisher',
    effect: 'operation',
    body: recipeRequest,
    status: 202,
    response: operation,
  }),
};
