// Recipes in requests and responses.
import * as z from 'zod';
import { commitPattern } from '../../domain/image/recipe-commit.ts';
import { json, listOf, name, record, request, sentence } from './common.ts';

const recipePath = z.string().min(1).max(1000);

const commitFields = {
  commit: z.string().regex(commitPattern),
  dirty: z.boolean().describe('The build differs from that commit.'),
};

export const recipeCommit = z
  .object(commitFields)
  .meta({ id: 'RecipeCommit', description: 'The commit of a recipe.' });

export const recipeSource = {
  recipe: z.string().min(1).describe('YAML text of the recipe.'),
  fileName: sentence.optional().describe('Name of the recipe in errors, and the base of its paths.'),
  files: z
    .record(recipePath, z.string().nullable())
    .optional()
    .describe(
      'The texts of the files that it extends, by their paths; null for one that does not exist. A file that is ' +
        'needed and not there is answered with `recipe-files-wanted`, which names it.',
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
  lock: z.string().optional().describe('Text of its lock.'),
  lockName: sentence.optional().describe('Name of the lock in errors.'),
  provider: name.optional().describe("Provider that runs the build. Defaults to the daemon's provider."),
  source: z.strictObject(commitFields).optional().describe('Commit of the recipe: the start of the lineage.'),
};

export const bump = z
  .enum(['patch', 'minor', 'major'])
  .optional()
  .describe('Part of the version number to increment (`semver`).');

const keepFailed = z
  .boolean()
  .optional()
  .describe("Keep the layer of a failed build for debugging on the daemon's host.");

export const locked = z
  .boolean()
  .optional()
  .describe('Build from `lock`, and fail if it does not match the recipe.');

export const buildRequest = request('BuildRequest', { ...recipeSource, bump, locked, keepFailed });

export const hotfixRequest = request('HotfixRequest', {
  from: name.describe('Base version, not a bare image name.'),
  set: z.array(name).min(1).max(50).describe('COMPONENT=VERSION, or COMPONENT=VERSION@sha256:DIGEST.'),
  folder: recipeSource.folder,
  roots: recipeSource.roots,
  provider: recipeSource.provider,
  bump,
  keepFailed,
});

export const recipeRequest = z.strictObject(recipeSource).meta({ id: 'RecipeRequest' });

export const lockRequest = request('LockRequest', {
  ...recipeSource,
  newest: z.boolean().optional().describe('Upgrade every input to its newest version, ignoring the lock.'),
});

export const shownRecipe = record('ShownRecipe', 'A composed recipe.', {
  name: z.string(),
  recipe: json,
  versions: listOf(z.object({ kubernetes: z.string().optional() })).describe('The versions of its matrix.'),
  text: z.string().describe('The composed recipe as YAML, with the file and line of each value.'),
});
