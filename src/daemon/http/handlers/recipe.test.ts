import { expect, test } from 'vitest';
import { recipeWrites } from './recipe.ts';

test.each([
  ['createBuild', { recipe: 'name: node\n' }],
  ['createHotfix', { from: 'node:1', set: ['runc=1'] }],
] as const)('%s keeps no failed build for a caller of another machine', async (name, body) => {
  const call = { body: { ...body, keepFailed: true }, caller: { local: false } };
  await expect(recipeWrites[name](call as never)).rejects.toMatchObject({ code: 'recipe-local-input' });
});
