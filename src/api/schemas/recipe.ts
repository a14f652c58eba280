// Recipes as they are sent, and what is answered about them.
import * as z from 'zod';
import { commitPattern } from '../../domain/image/recipe-commit.ts';
import { json, listOf, name, sentence } from './common.ts';

const recipePath = z.string().min(1).max(1000);

const commitFields = {
  commit: z.string().regex(commitPattern),
  dirty: z.boolean().describe('What was built is not what that commit holds.'),
};

export const recipeCommit = z
  .object(commitFields)
  .meta({ id: 'RecipeCommit', description: 'The commit that a recipe was built at.' });

export const recipeSource = {
  recipe: z.string().min(1).describe('The recipe, as YAML text.'),
  fileName: sentence.optional().describe('What errors call the recipe, and where paths in it begin.'),
  files: z
    .record(recipePath, z.string().nullable())
    .optional()
    .describe(
      'The texts of the files that it extends, by their paths; null for one that does not exist. A file that is ' +
        'needed and not there is answered with `recipe-files-wanted`, which names it.',
    ),
  overlays: z
    .array(recipePath)
    .max(20)
    .optional()
    .describe('Files of `files` to lay over it, in this order.'),
  folder: z
    .string()
    .startsWith('/')
    .max(4000)
    .optional()
    .describe("Where local inputs are, on the daemon's machine. Only over the Unix socket."),
  roots: z
    .array(z.string().startsWith('/').max(4000))
    .max(20)
    .optional()
    .describe('Further directories that local inputs can be in. With `folder` only.'),
  lock: z.string().optional().describe('The text of the lock that is committed beside it.'),
  lockName: sentence.optional().describe('What errors call the lock.'),
  provider: name.optional().describe("Who builds; defaults to the daemon's own."),
  source: z
    .strictObject(commitFields)
    .optional()
    .describe('The commit that the recipe is at: where the lineage begins.'),
};

export const bump = z
  .enum(['patch', 'minor', 'major'])
  .optional()
  .describe('Which part of the number grows, under `semver`.');

const keepFailed = z
  .boolean()
  .optional()
  .describe('Leave what a failed build worked on, for a person on the machine of the daemon.');

export const locked = z
  .boolean()
  .optional()
  .describe('Build from `lock` as it is, and refuse when it is not the lock of the recipe.');

export const buildRequest = z
  .strictObject({ ...recipeSource, bump, locked, keepFailed })
  .meta({ id: 'BuildRequest' });

export const hotfixRequest = z
  .strictObject({
    from: name.describe('The version to begin with; not a bare image name.'),
    set: z.array(name).min(1).max(50).describe('COMPONENT=VERSION, or COMPONENT=VERSION@sha256:DIGEST.'),
    folder: recipeSource.folder,
    roots: recipeSource.roots,
    provider: recipeSource.provider,
    bump,
    keepFailed,
  })
  .meta({ id: 'HotfixRequest' });

export const recipeRequest = z.strictObject(recipeSource).meta({ id: 'RecipeRequest' });

export const lockRequest = z
  .strictObject({
    ...recipeSource,
    newest: z.boolean().optional().describe('Take the newest of everything, whatever was locked before.'),
  })
  .meta({ id: 'LockRequest' });

export const shownRecipe = z
  .object({
    name: z.string(),
    recipe: json,
    versions: listOf(z.object({ kubernetes: z.string().optional() })).describe('What it stands for.'),
    text: z.string().describe('The whole recipe as YAML, with the file and line of each value.'),
  })
  .meta({ id: 'ShownRecipe' });
