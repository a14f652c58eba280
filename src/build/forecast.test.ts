import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { Json } from '../domain/json.ts';
import type { Recipe } from '../domain/recipe.ts';
import { createBuilder } from './builder.ts';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'imago-forecast-'));
  await mkdir(join(folder, 'tree'));
  await writeFile(join(folder, 'tree', 'note'), 'x');
});
afterEach(() => rm(folder, { recursive: true }));

const tool = { name: 'tool', version: '1', from: { file: 'tool' }, to: '/usr/bin/tool' };
const far = { name: 'far', version: '2', from: { url: 'https://nowhere.invalid/far' }, to: '/usr/bin/far' };
const secret = { ...far, name: 'hush', to: '/opt/hush', private: true as const };
const tree = { name: 'tree', version: '1', from: { folder: 'tree' }, to: '/opt/tree' };

/** Without store, network or sandbox: a forecast needs none of them. */
async function foresee(recipe: Partial<Recipe>) {
  const cacheFolder = join(folder, 'cache');
  const builder = createBuilder({ cacheFolder, mirror: 'https://nowhere.invalid/debian' });
  const whole = {
    ...{ name: 'node', numbering: 'semver', os: 'linux', architecture: 'x64' },
    ...{ components: [], settings: {}, folder, ...recipe },
  };
  const call = { signal: new AbortController().signal, epoch: 0 };
  const told = await builder.tools.forecast(whole as unknown as Json, call);
  expect(await readdir(cacheFolder).catch(() => [])).toEqual([]);
  return told;
}

test('on an empty machine everything is missing, what others know is named, and nothing is written', async () => {
  const told = await foresee({ components: [far, secret, tree] });
  expect(told.unresolved).toEqual(['packages', 'far', 'a private input']);
  expect(told.lockDigest).toBeUndefined();
  expect(told.problems).toEqual([]);
  expect(told.layers).toEqual(
    ['base', 'component far', 'component private-1', 'component tree', 'configuration'].map((name) => ({
      name,
      state: 'miss',
    })),
  );
  expect(told.estimate.fromHistory).toBe(false);
  expect(told.estimate.ms).toBeGreaterThan(10_000);
});

test('a file that is not there is told, and is no reason to tell nothing else', async () => {
  const told = await foresee({
    components: [tool],
    settings: { files: [{ path: '/etc/x', file: 'missing' }] },
  });
  expect(told.unresolved).toEqual(['packages']);
  expect(told.problems).toEqual([
    expect.stringMatching(/tool 1 comes from tool, and there is no such file/),
    expect.stringMatching(/missing/),
  ]);
  expect(told.layers.map(({ name }) => name)).toContain('component tool');
});

test('a file of the settings on one of a tree is refused here as by locking', async () => {
  const settings = { files: [{ path: '/opt/tree/note', content: '' }] };
  await expect(foresee({ components: [tree], settings })).rejects.toMatchObject({
    code: 'recipe-invalid',
    message: expect.stringContaining('components.0.to: /opt/tree'),
  });
});
