// Recipes as they are sent to the daemon, and as operations record them.
import * as z from 'zod';
import { numberingPolicies } from '../image/numbering.ts';
import { architectures, operatingSystems } from '../image/platform.ts';
import { commitFields } from '../image/record.ts';
import { name, sentence } from '../value/fields.ts';
import { buildMethods } from './schema.ts';
import { sha256 } from './sent-files.ts';

const recipePath = z.string().min(1).max(1000);

export const recipeSource = {
  recipe: z.string().min(1).describe('YAML text of the recipe.'),
  fileName: sentence.optional().describe('Name of the recipe in errors, and the base of its paths.'),
  files: z
    .record(recipePath, z.string().nullable())
    .optional()
    .describe(
      'The texts of the files that it extends, by path; null for one that does not exist. If a file is needed and ' +
        'missing, the request fails with `recipe-files-wanted`, which names it.',
    ),
  overlays: z.array(recipePath).max(20).optional().describe('Overlays in `files` to merge, in this order.'),
  folder: z
    .string()
    .startsWith('/')
    .max(4000)
    .optional()
    .describe("Directory of local inputs on the daemon's host. Only over the Unix socket."),
  roots: z
    .array(z.string().startsWith('/').max(4000))
    .max(20)
    .optional()
    .describe('Additional directories of local inputs. Requires `folder`.'),
  sent: sha256
    .optional()
    .describe(
      'In place of `folder`, for a client on another host: the sha256 of the list of local inputs, once they were sent. ' +
        'If they are needed and missing, the request fails with `recipe-files-wanted`, which lists their paths.',
    ),
  lock: z.string().optional().describe('Text of its lock.'),
  lockName: sentence.optional().describe('Name of the lock in errors.'),
  provider: name.optional().describe("Provider that runs the build. Defaults to the daemon's provider."),
  source: z.strictObject(commitFields).optional().describe('Commit of the recipe: the start of the lineage.'),
};

export const bump = z
  .enum(['patch', 'minor', 'major'])
  .optional()
  .describe('Part of the version number to increment (`semver`).');

export const locked = z
  .boolean()
  .optional()
  .describe('Build from `lock`, and fail if it does not match the recipe.');

export const newest = z
  .boolean()
  .optional()
  .describe('Upgrade every input to its newest version, ignoring the lock.');

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
