import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { tarEntry, tarFile, writeTar } from '../../disk/tar/writer.ts';
import type { Recipe, RecipeComponent, RecipeSettings } from '../../domain/recipe/recipe.ts';
import { contentFolder } from '../content/content-folder.ts';
import { localFiles } from '../inputs/local-files.ts';
import type { LockContext } from './context.ts';
import { refuseCoveredFiles } from './covered-files.ts';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'imago-covered-'));
  await mkdir(join(folder, 'tree', 'sub'), { recursive: true });
  await writeFile(join(folder, 'tree', 'sub', 'note'), 'x');
  const parts = [
    { entry: tarEntry('parts-1/bin', { type: 'directory' }) },
    tarFile('parts-1/bin/part', 'x'),
    tarFile('parts-1/doc/readme', 'x'),
  ];
  await writeFile(join(folder, 'parts.tar'), await buffer(writeTar(parts)));
});
afterAll(() => rm(folder, { recursive: true }));

const tree: RecipeComponent = { name: 'tree', version: '1', from: { folder: 'tree' }, to: '/usr/share/tree' };
const parts: RecipeComponent = {
  ...{ name: 'parts', version: '1', to: '/usr/local' },
  from: { tar: 'parts.tar', strip: 1, only: ['bin'] },
};

async function check(components: readonly RecipeComponent[], settings: RecipeSettings): Promise<void> {
  const recipe: Recipe = {
    ...{ name: 'node', numbering: 'semver', os: 'linux', architecture: 'x64' },
    ...{ components, settings },
  };
  const context = {
    files: localFiles({ folder }),
    inputs: contentFolder(join(folder, 'cache')),
  } as unknown as LockContext;
  await refuseCoveredFiles(recipe, [], context);
}

const file = (path: string): RecipeSettings => ({ files: [{ path, content: '' }] });
const refused = (message: RegExp) => ({ code: 'recipe-invalid', message: expect.stringMatching(message) });

test('a file of the settings on one of a folder is refused with both places', async () => {
  await expect(check([tree], file('/usr/share/tree/sub/note'))).rejects.toMatchObject(
    refused(
      /^settings\.files\.0: .*file of tree: \/usr\/share\/tree\/sub\/note \(components\.0\.to: \/usr\/share\/tree\)/,
    ),
  );
});

test('one in the place of a folder, or below a file, is refused too', async () => {
  await expect(check([tree], file('/usr/share/tree/sub'))).rejects.toMatchObject(refused(/tree/));
  await expect(check([tree], file('/usr/share/tree/sub/note/x'))).rejects.toMatchObject(refused(/tree/));
});

test('a file beside those of the tree is not', async () => {
  await check([tree], file('/usr/share/tree/sub/other'));
});

test('of an archive, only what is taken out of it counts', async () => {
  await expect(check([parts], file('/usr/local/bin/part'))).rejects.toMatchObject(refused(/parts/));
  await check([parts], file('/usr/local/doc/readme'));
});

test('units and files of other components are held against trees as well', async () => {
  const tool: RecipeComponent = {
    name: 'tool',
    version: '1',
    from: { file: 'x' },
    to: '/usr/local/bin/part',
  };
  await expect(check([tool, parts], {})).rejects.toMatchObject(
    refused(/^components\.0\.to: tool would replace a file of parts/),
  );
});

test('a component may replace a file of its own tree by its configuration', async () => {
  await check([{ ...tree, config: [{ path: '/usr/share/tree/sub/note', content: '' }] }], {});
});

test('a private component is not named', async () => {
  const secret: RecipeComponent = { ...tree, private: true };
  await expect(check([secret], file('/usr/share/tree/sub/note'))).rejects.toMatchObject(
    refused(/a file of a private component/),
  );
});

test('an archive that is neither here nor in the cache is left to the build', async () => {
  const far: RecipeComponent = { ...parts, from: { tar: 'https://example.test/parts.tar' } };
  await check([far], file('/usr/local/bin/part'));
});
