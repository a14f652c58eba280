import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type TarItem, tarEntry, tarFile } from '../../disk/tar/writer.ts';
import type { RecipeComponent } from '../../domain/recipe/recipe.ts';
import { writeItems } from './own-layers.ts';
import { refuseSharedPaths } from './shared-paths.ts';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'imago-shared-paths-'));
});
afterAll(() => rm(folder, { recursive: true }));

/** The components a, b, … with what each of them brings. */
async function check(...layers: (readonly TarItem[])[]): Promise<void> {
  const made = layers.map(async (items, index) => {
    const name = 'abc'.charAt(index);
    const path = join(folder, `${name}.tar`);
    await writeItems(items, path);
    const component: RecipeComponent = { name, version: '1', ...(index === 2 && { private: true }) };
    return { component, path };
  });
  await refuseSharedPaths(await Promise.all(made));
}

function link(path: string, to: string): TarItem {
  return { entry: tarEntry(path, { type: 'symlink', link: to }) };
}

const directory: TarItem = { entry: tarEntry('opt/x', { type: 'directory' }) };
const file = tarFile('opt/x/tool', 'one');
const refused = (message: string) => ({ code: 'recipe-invalid', message });

describe('two components', () => {
  test('may share folders and links that lead to one place, and one of them may say a thing twice', async () => {
    const bin = link('opt/bin', 'x');
    await check([directory, bin, file, file], [directory, bin, tarFile('opt/x/other', '')]);
  });

  test.each([
    ['the same file', [file], [tarFile('opt/x/tool', 'two')], '/opt/x/tool'],
    ['a link on a file', [file], [link('opt/x/tool', 'other')], '/opt/x/tool'],
    ['links that lead elsewhere', [link('opt/l', 'a')], [link('opt/l', 'b')], '/opt/l'],
    ['a file on a folder', [directory], [tarFile('opt/x', '')], '/opt/x'],
    ['a file by its two names', [tarFile('bin/t', '')], [tarFile('usr/bin/t', '')], '/usr/bin/t'],
  ])('with %s are refused by name', async (_, first, second, path) => {
    await expect(check(first, second)).rejects.toMatchObject(refused(`a and b both bring ${path}.`));
  });

  test('of which one is private are refused without its name', async () => {
    await expect(check([file], [], [file])).rejects.toMatchObject(
      refused('a and a private component both bring /opt/x/tool.'),
    );
  });
});

test("a file of the settings is not a component's to bring, though its folder is", async () => {
  const path = join(folder, 'covered.tar');
  await writeItems([directory, file], path);
  const layers = [{ component: { name: 'tree', version: '1' }, path }];
  await refuseSharedPaths(layers, ['/opt/x', '/opt/x/other']);
  await expect(refuseSharedPaths(layers, ['/opt/x/tool'])).rejects.toMatchObject(
    refused('settings.files: the file /opt/x/tool would replace a file of tree.'),
  );
});

test("what Imago writes is not a component's to bring, but for its own receipt", async () => {
  const release = tarFile('etc/imago-release', '');
  await expect(check([release])).rejects.toMatchObject(
    refused("a brings /etc/imago-release, where Imago's record of the image is."),
  );
  await check([tarFile('usr/lib/imago/components/a.json', '{}')]);
  await expect(check([tarFile('usr/lib/imago/components/b.json', '{}')])).rejects.toThrow("Imago's agent");
});
