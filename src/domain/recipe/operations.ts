// The operations that answer questions about a recipe before it is built. They can download for minutes; what they write
// are caches alone.
import * as z from 'zod';
import { declareOperation } from '../operation/declaration.ts';
import { name, request } from '../value/fields.ts';
import { newest, recipeSource } from './request.ts';

const recipe = z.looseObject({ name: z.string(), kubernetes: z.string().optional() });

const questionInput = z.object({
  /** As it is written. */
  recipe,
  /** One for each of its versions, with the committed lock, if there is one. */
  variants: z.array(z.object({ recipe, lock: z.unknown().optional() })).min(1),
  newest,
  provider: z.string().optional(),
});
export type QuestionInput = z.output<typeof questionInput>;

const question = {
  role: 'publisher',
  subject: ({ recipe: { name: image } }: Pick<QuestionInput, 'recipe'>) => `recipe/${image}`,
  input: questionInput,
} as const;

export const recipeRequest = request('RecipeRequest', recipeSource);

export const recipeLock = declareOperation({
  ...question,
  kind: 'recipe-lock',
  routes: {
    lockRecipe: {
      address: 'POST /v1/recipes/lock',
      tag: 'Recipes',
      summary: 'Resolve every input of a recipe to an exact version, sha256, and size',
      description: 'The result has the `text` of the lock, to be committed next to the recipe.',
      body: request('LockRequest', { ...recipeSource, newest }),
    },
  },
});

export const recipeOutdated = declareOperation({
  ...question,
  kind: 'recipe-outdated',
  routes: {
    findOutdated: {
      address: 'POST /v1/recipes/outdated',
      tag: 'Recipes',
      summary: 'Find inputs of a recipe that have newer versions',
      body: recipeRequest,
    },
  },
});

export const recipeWhy = declareOperation({
  ...question,
  kind: 'recipe-why',
  routes: {
    explainRebuild: {
      address: 'POST /v1/recipes/why-rebuild',
      tag: 'Recipes',
      summary: 'Show which layers a build would rebuild, and which inputs changed',
      body: recipeRequest,
    },
  },
});

const absorbFields = {
  reference: name.describe('Captured version.'),
  skip: z.array(z.string().min(1)).max(1000).default([]).describe('Names and paths to leave out.'),
};

export const recipeAbsorb = declareOperation({
  kind: 'recipe-absorb',
  role: 'publisher',
  subject: question.subject,
  input: z.object({ ...absorbFields, recipe, text: z.string(), provider: z.string().optional() }),
  routes: {
    absorbVersion: {
      address: 'POST /v1/recipes/absorb',
      tag: 'Recipes',
      summary: 'Add to a recipe what a captured version has in addition to its parent',
      description:
        'The result has the `text` of the edited recipe, the `changes` in it, and what is `left`. Nothing is built or written.',
      body: request('AbsorbRequest', { ...recipeSource, ...absorbFields }),
    },
  },
});
