import { expect, test } from 'vitest';
import { receiveRecipe } from './read-recipe.ts';

const here = { local: true };
const elsewhere = { local: false };
const small = 'name: node\nkubernetes: 1.34.2\ncomponents:\n  - name: runc\n    version: 1.1.15\n';

test('a recipe is read from its text alone, under the name that the client gave it', async () => {
  expect((await receiveRecipe({ recipe: small }, elsewhere)).recipe).toMatchObject({
    name: 'node',
    components: [{ name: 'runc', version: '1.1.15' }],
  });
  const mistaken = { recipe: 'name: node\nnumberng: date\n', fileName: 'imago.yaml' };
  await expect(receiveRecipe(mistaken, here)).rejects.toThrow(/^imago\.yaml:2:1: /);
});

test('a file that it extends is asked for by name, and never read by the daemon', async () => {
  const recipe = 'name: node\nextends: ../../etc/passwd\n';
  await expect(receiveRecipe({ recipe }, here)).rejects.toThrow(/there is no file/);
  const asked = receiveRecipe({ recipe, fileName: 'a/b/imago.yaml', files: {} }, here);
  await expect(asked).rejects.toMatchObject({
    code: 'recipe-files-wanted',
    details: { files: ['etc/passwd'] },
  });
});

test('a file that the client does not have either is a mistake with its place', async () => {
  const sent = { recipe: 'name: node\nextends: base.yaml\n', fileName: 'imago.yaml' };
  await expect(receiveRecipe({ ...sent, files: { 'base.yaml': null } }, here)).rejects.toThrow(
    /^imago\.yaml:2:1: there is no file base\.yaml/,
  );
});

test('files and overlays that came along are put together', async () => {
  const { recipe } = await receiveRecipe(
    {
      recipe: 'name: node\nextends: base.yaml\n',
      fileName: 'imago.yaml',
      files: { 'base.yaml': 'kubernetes: 1.34.2\n', 'debug.yaml': 'notes: for debugging\n' },
      overlays: ['debug.yaml'],
    },
    here,
  );
  expect(recipe).toMatchObject({ name: 'node', kubernetes: '1.34.2', notes: 'for debugging' });
});

test('a matrix gives one recipe for each version', async () => {
  const sent = { recipe: 'name: node\nmatrix: {kubernetes: [1.34.2, 1.34.3]}\n', folder: '/somewhere' };
  const { variants } = await receiveRecipe(sent, here);
  expect(variants.map(({ recipe }) => [recipe.kubernetes, recipe.folder])).toEqual([
    ['1.34.2', '/somewhere'],
    ['1.34.3', '/somewhere'],
  ]);
});

const withFile = `${small}  - name: tool\n    version: 1.0.0\n    from: {file: ../secret}\n    to: /usr/bin/tool\n`;

test('a caller of another machine cannot name files of this one, and is asked to send its own', async () => {
  const refused = { code: 'recipe-local-input' };
  await expect(receiveRecipe({ recipe: withFile }, elsewhere)).rejects.toMatchObject({
    code: 'recipe-files-wanted',
    details: { inputs: ['../secret'] },
  });
  const absolute = withFile.replace('../secret', '/etc/secret');
  await expect(receiveRecipe({ recipe: absolute }, elsewhere)).rejects.toMatchObject(refused);
  const { variants } = await receiveRecipe({ recipe: withFile, sent: 'a'.repeat(64) }, elsewhere);
  expect(variants[0]?.recipe).toMatchObject({ sent: 'a'.repeat(64) });
  await expect(receiveRecipe({ recipe: withFile, folder: '/home' }, elsewhere)).rejects.toMatchObject(
    refused,
  );
  await expect(receiveRecipe({ recipe: small, folder: '/home' }, elsewhere)).rejects.toMatchObject(refused);
});

test.each(['file', 'folder', 'layout', 'tar'])(
  'refuses a %s that only looks like an address',
  async (field) => {
    for (const path of ['x://../../etc/hostname', 'file:///etc/hostname', 'HTTP://../etc/hostname']) {
      const from = field === 'layout' ? `{oci: a, layout: "${path}"}` : `{${field}: "${path}"}`;
      const recipe = `${small}  - name: tool\n    version: 1.0.0\n    from: ${from}\n    to: /usr/bin/tool\n`;
      for (const caller of [here, elsewhere]) {
        await expect(receiveRecipe({ recipe }, caller)).rejects.toMatchObject({ code: 'recipe-invalid' });
      }
    }
  },
);

test('a local file without a folder is refused: it would be looked for wherever the daemon was started', async () => {
  await expect(receiveRecipe({ recipe: withFile }, here)).rejects.toMatchObject({
    code: 'recipe-files-wanted',
  });
  const { variants } = await receiveRecipe({ recipe: withFile, folder: '/home/me' }, here);
  expect(variants[0]?.recipe.folder).toBe('/home/me');
});

test('a lock that was edited by hand is refused', async () => {
  const sent = { recipe: small, fileName: 'imago.yaml', lock: 'digest: sha256:0\nformat: 1\n' };
  await expect(receiveRecipe(sent, here)).rejects.toMatchObject({
    code: 'lock-invalid',
    hint: expect.stringContaining('--newest'),
  });
  await expect(receiveRecipe({ ...sent, lockName: 'imago.debug.lock' }, here)).rejects.toThrow(
    /^imago\.debug\.lock /,
  );
});

test('ignores an unreadable lock with --newest', async () => {
  const sent = { recipe: small, fileName: 'imago.yaml', lock: 'digest: sha256:0\nformat: 1\n' };
  const { variants } = await receiveRecipe({ ...sent, newest: true }, here);
  expect(variants[0]).not.toHaveProperty('lock');
});

test('the recipe that `imago init` writes is a good one', async () => {
  const { starterRecipe } = await import('../../../cli/output/starter-recipe.ts');
  expect((await receiveRecipe({ recipe: starterRecipe }, elsewhere)).recipe).toMatchObject({ name: 'node' });
});
