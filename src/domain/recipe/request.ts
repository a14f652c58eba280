// Recipes as they are sent to the daemon, and as operations record them.
import * as z from 'zod';
import { numberingPolicies } from '../image/numbering.ts';
import { commitPattern } from '../image/recipe-commit.ts';
import { architectures, operatingSystems } from '../image/version.ts';
import { name, sentence } from '../value/fields.ts';
import { buildMethods } from './schema.ts';

const recipePath = z.string().min(1).max(1000);

const commitFields = {
  commit: z.string().regex(commitPattern),
  dirty: z.boolean().describe('The build differs from that commit.'),
};

export const recipeSource = {
  recipe: z.string().min(1).describe('The recipe, as YAML text.'),
  fileName: sentence.optional().describe('The name of the recipe in errors, and where paths in it start.'),
  files: z
    .record(recipePath, z.string().nullable())
    .optional()
    .describe(
      'The texts of the files that it extends, by path; null for one that does not exist. If a file is needed and ' +
        'missing, the request fails with `recipe-files-wanted`, which names it.',
    ),
  overlays: z
    .array(recipePath)
    .max(20)
    .optional()
    .describe('Files of `files` to merge over it, in this order.'),
  folder: z
    .string()
    .startsWith('/')
    .max(4000)
    .optional()
    .describe("Where local inputs are, on the daemon's host. Only over the Unix socket."),
  roots: z
    .array(z.string().startsWith('/').max(4000))
    .max(20)
    .optional()
    .describe('Further directories that local inputs can be in. With `folder` only.'),
  lock: z.string().optional().describe('The text of the lock that is committed next to it.'),
  lockName: sentence.optional().describe('The name of the lock in errors.'),
  provider: name.optional().describe("The provider that builds. Defaults to the daemon's own."),
  source: z
    .strictObject(commitFields)
    .optional()
    .describe('The commit that the recipe is at: where the lineage starts.'),
};

export const bump = z
  .enum(['patch', 'minor', 'major'])
  .optional()
  .describe('Which part of the number grows, under `semver`.');

export const locked = z
  .boolean()
  .optional()
  .describe('Build from `lock` as it is, and refuse if it is not the lock of the recipe.');

export const newest = z
  .boolean()
  .optional()
  .describe('Use the newest version of every input, regardless of the lock.');

export const recipeCommit = z.object(commitFields);

/** A recipe as operations record it: the fields that they read, and all others unchanged. */
export const recordedRecipe = z.looseObject({
  name: z.string(),
  numbering: z.enum(numberingPolicies).default('semver'),
  os: z.enum(operatingSystems).default('linux'),
  architecture: z.enum(architectures).default('x64'),
  method: z.enum(buildMethods).optional(),
  kubernetes: z.string().optional(),
  support: z.object({ until: z.string() }).optional(),
});
