// Recipes in responses.
import * as z from 'zod';
import { sha256 } from '../../domain/recipe/sent-files.ts';
import { json, listOf, record, request } from '../../domain/value/fields.ts';

export const shownRecipe = record('ShownRecipe', 'A composed recipe.', {
  name: z.string(),
  recipe: json,
  versions: listOf(z.object({ kubernetes: z.string().optional() })).describe('The versions of its matrix.'),
  text: z.string().describe('The composed recipe as YAML, with the file and line of each value.'),
});

export const storedFiles = record('StoredFiles', 'Files of a recipe that were stored.', {
  files: z.number(),
});

export const placeFilesRequest = request('PlaceFilesRequest', {
  list: sha256.describe(
    'Sha256 of the list, a file that is sent like the others: JSON with `folder`, the directory of the recipe, and ' +
      '`entries`, which have `type` (`file`, `directory`, or `link`), `path`, and for files `sha256`, `sizeBytes`, and ' +
      '`executable`, for links `to`. Paths are relative to one directory above all of them.',
  ),
});

export const placedFiles = record('PlacedFiles', 'What is left to send.', {
  missing: listOf(z.object({ sha256, sizeBytes: z.number().optional() })).describe(
    'Empty once the directory exists.',
  ),
});
