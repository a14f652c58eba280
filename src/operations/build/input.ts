// What a build is asked with: a recipe, or a version whose lock is changed.
import * as z from 'zod';
import { numberingPolicies } from '../../domain/image/numbering.ts';
import { commitPattern } from '../../domain/image/recipe-commit.ts';
import { architectures } from '../../domain/image/version.ts';
import { buildMethods } from '../../domain/recipe/schema.ts';

export const recipeFields = z.looseObject({
  name: z.string(),
  numbering: z.enum(numberingPolicies).default('semver'),
  os: z.enum(['linux', 'windows']).default('linux'),
  architecture: z.enum(architectures).default('x64'),
  method: z.enum(buildMethods).optional(),
  kubernetes: z.string().optional(),
  support: z.object({ until: z.string() }).optional(),
});

const hotfixFields = z.object({
  /** The version whose lock is changed, as it was asked for. */
  from: z.string(),
  lockDigest: z.string(),
  set: z.array(z.string()).min(1),
  /** Where relative paths of its recipe start, and further directories that its files can be in. */
  folder: z.string().optional(),
  roots: z.array(z.string()).optional(),
});

export const recipeCommit = z.object({ commit: z.string().regex(commitPattern), dirty: z.boolean() });

export const buildInput = z
  .object({
    recipe: recipeFields.optional(),
    hotfix: hotfixFields.optional(),
    /** The lock that is committed beside the recipe. */
    lock: z.unknown().optional(),
    /** The newest of every input, whatever was locked before. */
    newest: z.boolean().optional(),
    /** Refuse to build when the lock is not the one of the recipe. */
    locked: z.boolean().optional(),
    keepFailed: z.boolean().optional(),
    provider: z.string().optional(),
    bump: z.enum(['patch', 'minor', 'major']).optional(),
    /** Where the recipe was taken from. */
    source: recipeCommit.optional(),
  })
  .refine(
    ({ recipe, hotfix: fix }) => (recipe === undefined) !== (fix === undefined),
    'give a recipe, or a version to change',
  );
export type BuildInput = z.infer<typeof buildInput>;
