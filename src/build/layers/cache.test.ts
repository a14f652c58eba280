import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { layerCache } from './cache.ts';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'imago-cache-'));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const key = 'a'.repeat(64);

/** As a build does, in a folder of its own; tells whether the layer had to be made. */
async function take(build: string, content = 'the layer') {
  const own = join(folder, 'work', build);
  await mkdir(own, { recursive: true });
  let made = false;
  const layer = await layerCache(folder).take({
    ...{ key, name: 'base', inputs: {}, path: join(own, '0.tar') },
    make: async (path) => {
      made = true;
      await writeFile(path, content);
    },
  });
  await layer.stored;
  return { ...layer, made, text: await readFile(layer.path, 'utf8') };
}

async function blobs(): Promise<readonly string[]> {
  const at = join(folder, 'content');
  const names = await readdir(at, { recursive: true });
  return names.filter((name) => name.endsWith('.tar')).map((name) => join(at, name));
}

describe('a layer in the cache', () => {
  test('is made once, and the next build reads it', async () => {
    expect(await take('first')).toMatchObject({ made: true, reused: false, text: 'the layer' });
    expect(await take('second')).toMatchObject({ made: false, reused: true, text: 'the layer' });
    expect(await blobs()).toHaveLength(1);
  });

  test('stays with the build that took it when the cache deletes it, and the other way round', async () => {
    const first = await take('first');
    await rm(join(folder, 'work', 'first'), { recursive: true });
    const second = await take('second');
    expect([first.made, second.made]).toEqual([true, false]);
    for (const blob of await blobs()) await rm(blob);
    expect(await readFile(second.path, 'utf8')).toBe('the layer');
    expect(await take('third')).toMatchObject({ made: true });
  });

  test.each([
    ['other bytes of the same length', 'the liar!'],
    ['fewer bytes', 'the'],
    ['nothing, after a power cut', ''],
  ])('that contains %s is made again', async (_, damaged) => {
    await take('first');
    const [blob = ''] = await blobs();
    await rm(blob);
    await writeFile(blob, damaged);
    expect(await take('second')).toMatchObject({ made: true, text: 'the layer' });
    expect(await take('third')).toMatchObject({ made: false, text: 'the layer' });
  });
});
