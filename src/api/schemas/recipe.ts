// Recipes in responses.
import * as z from 'zod';
import { json, listOf, record } from '../../domain/value/fields.ts';

export const shownRecipe = record('ShownRecipe', 'A composed recipe.', {
  name: z.string(),
  recipe: json,
  versions: listOf(z.object({ kubernetes: z.string().optional() })).describe('The versions of its matrix.'),
  text: z.string().describe('The composed recipe as YAML, with the file and line of each value.'),
});
