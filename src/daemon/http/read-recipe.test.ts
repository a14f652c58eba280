import { expect, test } from 'vitest';
import { readRecipe } from './read-recipe.ts';

test('a recipe is read from its text alone, under the name that the client gave it', async () => {
  const text = 'name: node\nkubernetes: 1.34.2\ncomponents:\n  - name: runc\n    version: 1.1.15\n';
  expect(await readRecipe(text)).toMatchObject({
    name: 'node',
    components: [{ name: 'runc', version: '1.1.15' }],
  });
  await expect(readRecipe('name: node\nnumberng: date\n', 'imago.yaml')).rejects.toThrow(
    /^imago\.yaml:2:1: /,
  );
});

test('a recipe that extends another one cannot be read from its text alone', async () => {
  await expect(readRecipe('name: node\nextends: ../../etc/passwd\n')).rejects.toThrow(/there is no file/);
});

test('a matrix is refused where one version is built', async () => {
  await expect(readRecipe('name: node\nmatrix: {kubernetes: [1.34.2, 1.34.3]}\n')).rejects.toThrow(
    /2 versions/,
  );
});
