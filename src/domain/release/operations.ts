// The operations that take a recipe to production.

import * as z from 'zod';
import { ImagoError } from '../error/imago-error.ts';
import { recipeCommit } from '../image/record.ts';
import { declareOperation } from '../operation/declaration.ts';
import { bump, locked, newest, recipeSource, recordedRecipe } from '../recipe/request.ts';
import { name, reason, request, sentence } from '../value/fields.ts';

const oneVersion = {
  recipe: z.looseObject({ name: z.string(), kubernetes: z.string().optional() }),
  /** The lock that is committed next to the recipe. */
  lock: z.unknown().optional(),
};

const variant = z.looseObject(oneVersion);
export type Variant = z.output<typeof variant>;

const releaseInput = z
  .object({
    ...{ recipe: oneVersion.recipe.optional(), lock: oneVersion.lock },
    /** For a recipe with several versions: its image, and its variants. */
    image: z.string().optional(),
    variants: z.array(variant).min(1).optional(),
    provider: z.string().optional(),
    ...{ bump, newest: newest.default(false), locked, source: recipeCommit.optional() },
    /** In order. A variant of a release of several is not promoted on its own. */
    channels: z.array(z.string()).default(['staging', 'production']),
    why: reason,
    waitMs: z
      .number()
      .int()
      .min(0)
      .default(3 * 86_400_000),
  })
  .refine(
    ({ recipe, variants }) => (recipe === undefined) !== (variants === undefined),
    'give a recipe, or variants',
  )
  .transform(({ recipe, image, ...input }) => {
    const { channels } = input;
    const twice = channels.find((channel, index) => channels.indexOf(channel) !== index);
    if (twice !== undefined) {
      throw new ImagoError('input-invalid', `Channel ${twice} is listed twice.`);
    }
    return { ...input, recipe, image: image ?? recipe?.name ?? '' };
  });
export type ReleaseInput = z.output<typeof releaseInput>;

const waitSeconds = z
  .int()
  .min(0)
  .max(30 * 86_400)
  .default(3 * 86_400)
  .describe('Maximum time to wait for gates that time or approvals can pass.');

export const release = declareOperation({
  kind: 'release',
  formerly: ['release-matrix'],
  role: 'publisher',
  subject: ({ image }) => `release/${image}`,
  input: releaseInput,
  routes: {
    createRelease: {
      address: 'POST /v1/releases',
      tag: 'Images',
      summary: 'Lock, build, test, publish, and promote a recipe in one operation',
      body: request('ReleaseRequest', {
        ...{ ...recipeSource, bump, newest, locked },
        whenNewer: z
          .boolean()
          .optional()
          .describe('Release only if an input is newer than in any previous build.'),
        channels: z
          .array(name)
          .min(1)
          .max(20)
          .optional()
          .describe('Channels to promote to, in order. Defaults to all channels of the image.'),
        why: sentence,
        waitSeconds,
      }),
    },
  },
});

/** Read as a build reads it: the lock contains the defaults, too. */
const newerVariant = z.looseObject({ recipe: recordedRecipe });

export const releaseNewer = declareOperation({
  kind: 'release-newer',
  role: 'publisher',
  subject: ({ release: { image } }) => `release-newer/${image}`,
  input: z
    .object({ input: z.looseObject({ variants: z.array(newerVariant).min(1).optional() }) })
    .transform(({ input }) => ({
      input,
      release: releaseInput.parse(input),
      variants: input.variants ?? [newerVariant.parse(input)],
    })),
  routes: {},
});
