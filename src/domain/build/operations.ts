// The operation that builds the versions of a recipe.

import * as z from 'zod';
import { recipeCommit } from '../image/record.ts';
import { imageOf } from '../image/reference.ts';
import { declareOperation } from '../operation/declaration.ts';
import { bump, locked, newest, recipeSource, recordedRecipe } from '../recipe/request.ts';
import { name, request } from '../value/fields.ts';

const keepFailed = z
  .boolean()
  .optional()
  .describe("Keep the layer or the machine of a failed build for debugging on the daemon's host.");

const hotfix = z.object({
  /** The version whose lock is changed, as it was requested. */
  from: z.string(),
  lockDigest: z.string(),
  set: z.array(z.string()).min(1),
  /** Where relative paths of its recipe start, and further directories that its files can be in. */
  folder: z.string().optional(),
  roots: z.array(z.string()).optional(),
});

const oneBuild = z.object({
  recipe: recordedRecipe.optional(),
  hotfix: hotfix.optional(),
  /** The lock that is committed next to the recipe. */
  lock: z.unknown().optional(),
  newest,
  locked,
  keepFailed,
  provider: z.string().optional(),
  bump,
  source: recipeCommit.optional(),
});
export type OneBuild = z.output<typeof oneBuild>;

const buildInput = oneBuild
  .extend({
    /** For a recipe with several versions: its image, and a build for each. */
    image: z.string().optional(),
    builds: z.array(oneBuild).min(1).optional(),
  })
  .refine(
    ({ recipe, hotfix: fix, builds }) =>
      [recipe, fix, builds].filter((way) => way !== undefined).length === 1,
    'give a recipe, a version to change, or a list of builds',
  );
export type BuildInput = z.output<typeof buildInput>;

/** The image that the build adds a version to. */
export function imageOfBuild({ recipe, hotfix: fix, image }: BuildInput): string {
  return image ?? recipe?.name ?? imageOf(fix?.from ?? '');
}

export const build = declareOperation({
  kind: 'build',
  formerly: ['build-matrix'],
  role: 'publisher',
  subject: (input) => `image/${imageOfBuild(input)}`,
  input: buildInput,
  routes: {
    createBuild: {
      address: 'POST /v1/builds',
      tag: 'Images',
      summary: 'Lock a recipe, build it, and seal a candidate for each of its variants',
      body: request('BuildRequest', { ...recipeSource, bump, locked, keepFailed }),
    },
    createHotfix: {
      address: 'POST /v1/hotfixes',
      tag: 'Images',
      summary: 'Rebuild a version with other versions of some components, and no other change',
      body: request('HotfixRequest', {
        from: name.describe('Base version, not a bare image name.'),
        set: z.array(name).min(1).max(50).describe('COMPONENT=VERSION, or COMPONENT=VERSION@sha256:DIGEST.'),
        folder: recipeSource.folder,
        roots: recipeSource.roots,
        provider: recipeSource.provider,
        bump,
        keepFailed,
      }),
    },
  },
});
