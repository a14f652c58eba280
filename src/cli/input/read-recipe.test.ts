import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { ImagoError } from '../../domain/error/imago-error.ts';
import { lockFileOf, type SentRecipe, sendRecipe } from './read-recipe.ts';

test.each([
  ['imago.yaml', [], undefined, 'imago.lock'],
  ['node/imago.yml', [], undefined, 'node/imago.lock'],
  ['node/imago.yaml', ['over/debug.yaml'], undefined, 'node/imago.debug.lock'],
  ['imago.yaml', ['a.yaml', 'b.yaml'], '1.34.3', 'imago.a.b.kubernetes-1.34.3.lock'],
])('what is laid over %s (%j, %s) has a lock of its own', (file, overlays, kubernetes, lock) => {
  expect(lockFileOf(file, overlays, kubernetes)).toBe(lock);
});

describe('files that a recipe extends', () => {
  let top: string;
  let file: string;
  beforeEach(() => {
    top = realpathSync(mkdtempSync(join(tmpdir(), 'imago-extends-')));
    file = join(top, 'recipes', 'imago.yaml');
    for (const folder of ['recipes', 'common', 'private']) mkdirSync(join(top, folder));
    for (const path of ['recipes/base.yaml', 'common/base.yaml', 'private/base.yaml', 'recipes/key']) {
      writeFileSync(join(top, path), `${path}\n`);
    }
    symlinkSync('../private/base.yaml', join(top, 'recipes', 'base-link.yaml'));
  });
  afterEach(() => rmSync(top, { recursive: true }));

  /** A daemon that wants these files, whatever the recipe says. */
  async function gather(text: string, wanted: readonly string[], flags: Record<string, string[]> = {}) {
    writeFileSync(file, text);
    const send = async (sent: SentRecipe) => {
      const files = wanted.filter((path) => !Object.hasOwn(sent.files ?? {}, path));
      if (files.length === 0) return sent.files;
      throw new ImagoError('recipe-files-wanted', 'More.', { details: { files } });
    };
    return sendRecipe({ args: { FILE: file }, flags } as never, send);
  }
  const refused = { code: 'recipe-path-outside' };

  test('are read next to the recipe, next to an overlay, and in an opened directory', async () => {
    const near = join(top, 'recipes', 'base.yaml');
    const far = join(top, 'common', 'base.yaml');
    expect(await gather('extends: base.yaml\n', [near])).toMatchObject({ [near]: 'recipes/base.yaml\n' });
    const opened = { files: [join(top, 'common')] };
    expect(await gather('extends: base.yaml\n', [far], opened)).toMatchObject({
      [far]: 'common/base.yaml\n',
    });
    writeFileSync(join(top, 'common', 'over.yaml'), 'extends: base.yaml\n');
    const overlaid = { overlay: [join(top, 'common', 'over.yaml')] };
    expect(await gather('name: a\n', [far], overlaid)).toMatchObject({ [far]: 'common/base.yaml\n' });
  });

  test('are null if they do not exist', async () => {
    const path = join(top, 'recipes', 'gone.yaml');
    expect(await gather('extends: gone.yaml\n', [path])).toMatchObject({ [path]: null });
  });

  test.each(['private/base.yaml', 'recipes/base-link.yaml', 'private/gone.yaml'])(
    'are not sent from elsewhere: %s',
    async (path) => {
      const wanted = join(top, path);
      await expect(gather(`extends: ${wanted}\n`, [wanted])).rejects.toMatchObject(refused);
    },
  );

  test('are not sent if no recipe names them', async () => {
    await expect(gather('name: node\n', [join(top, 'recipes', 'key')])).rejects.toMatchObject(refused);
  });
});
