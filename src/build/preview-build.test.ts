import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { sampleInput, sampleLock } from '../../test/support/inventory.ts';
import type { Lock } from '../domain/lock/lock.ts';
import type { Recipe } from '../domain/recipe/recipe.ts';
import { createBuilder } from './builder.ts';
import { buildRules } from './lock/rules.ts';

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
async function foresee(recipe: Partial<Recipe>, previous?: Lock) {
  const cacheFolder = join(folder, 'cache');
  const builder = createBuilder({ cacheFolder, mirror: 'https://nowhere.invalid/debian' });
  const whole = {
    ...{ name: 'node', numbering: 'semver', os: 'linux', architecture: 'x64' },
    ...{ components: [], settings: {}, folder, ...recipe },
  };
  const call = { signal: new AbortController().signal, epoch: 0 };
  const told = await builder.tools.preview(whole as unknown as Recipe, {
    ...call,
    previous,
  });
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

test('a file that does not exist is reported, together with everything else', async () => {
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

describe('a disk that is too small', () => {
  const disk = { sizeBytes: 256 * 2 ** 20 };
  const known = (recipe: Partial<Recipe>) =>
    sampleLock({ ...recipe, components: [] }, [
      sampleInput('package', 'libc6', { sets: ['base'], installedBytes: 400 * 2 ** 20 }),
      sampleInput('index', 'debian/trixie/InRelease'),
    ]);

  test('is reported by the dry run if all of its content is known', async () => {
    const told = await foresee({ disk }, { ...known({ disk }), rules: buildRules });
    expect(told.unresolved).toEqual([]);
    expect(told.problems).toEqual([
      expect.stringMatching(/^The disk has 256 MiB, and its content needs about one of \d+ MiB\.$/),
    ]);
    expect(told.warnings).toEqual([]);
  });

  test('is a warning as long as something must be resolved again', async () => {
    const told = await foresee({ disk, components: [far] }, { ...known({ disk }), rules: buildRules });
    expect(told).toMatchObject({
      unresolved: ['far'],
      problems: [],
      warnings: [expect.stringMatching(/may be too small/)],
    });
  });
});

describe('a hotfix', () => {
  const engine = { ...tool, name: 'engine', versions: ['1', '2'], version: undefined };
  const lock = sampleLock(
    { components: [tool, { name: 'box', from: { package: 'busybox' } }, engine as never] },
    [
      sampleInput('binary', 'tool', { version: '1' }),
      sampleInput('package', 'busybox', { sets: ['packages'] }),
      sampleInput('package', 'libc6', { sets: ['base'] }),
    ],
  );
  const builder = () => createBuilder({ cacheFolder: join(folder, 'cache') });
  const told = (...sets: readonly string[]) => builder().tools.previewHotfix(lock, sets);

  test('takes the set inputs for changed, by the component or by its package', async () => {
    expect(await told('box=2')).toMatchObject({ unresolved: ['box'], problems: [] });
    expect(await told('libc6=2', 'tool=2')).toMatchObject({ unresolved: ['libc6', 'tool'] });
    expect(await told('tool=2')).not.toHaveProperty('lockDigest');
  });

  test.each([
    ['tol=2', /no component or package tol/],
    ['engine=3', /several versions side by side/],
    ['tool', /does not say what to set/],
  ])('that cannot be done is refused: %s', async (set, message) => {
    await expect(told(set)).rejects.toMatchObject({
      code: 'input-invalid',
      message: expect.stringMatching(message),
    });
  });
});

test('a file of the settings on one of a tree is refused here as by locking', async () => {
  const settings = { files: [{ path: '/opt/tree/note', content: '' }] };
  await expect(foresee({ components: [tree], settings })).rejects.toMatchObject({
    code: 'recipe-invalid',
    message: expect.stringContaining('components.0.to: /opt/tree'),
  });
});
