// A build from the lock alone: it is the lock of the recipe to the last input, or it is refused with what differs.
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { sampleInput, sampleLock } from '../../../test/support/inventory.ts';
import { type Lock, makeLock } from '../../domain/lock/lock.ts';
import type { Recipe } from '../../domain/recipe/recipe.ts';
import { ownerGuard } from '../../host/network/address-guard.ts';
import { contentFolder } from '../content/content-folder.ts';
import { localFiles } from '../inputs/local-files.ts';
import type { LockContext } from './context.ts';
import { lockRecipe } from './lock-recipe.ts';
import { lockParts } from './parts.ts';
import { buildEpoch, buildRules } from './rules.ts';

const tool = { name: 'tool', version: '1', from: { file: 'tool' }, to: '/usr/bin/tool' };
const recipe: Recipe = { ...sampleLock().recipe, components: [tool], settings: {} };
let folder: string;
let lock: Lock;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'imago-stale-'));
  await writeFile(join(folder, 'tool'), 'a tool');
  const packages = [
    sampleInput('package', 'runc', { sets: ['packages'] }),
    sampleInput('index', 'debian/trixie/InRelease'),
  ];
  const facts = { rules: buildRules, epoch: buildEpoch };
  const first = makeLock(
    recipe,
    [...packages, sampleInput('binary', 'tool', { version: '1', source: 'file:tool' })],
    facts,
  );
  lock = await lockRecipe(recipe, context(), first);
});
afterEach(() => rm(folder, { recursive: true, force: true }));

/** Nothing can be resolved. */
function context(): LockContext {
  const asked = async () => {
    throw new Error('something was resolved');
  };
  return {
    ...{
      cacheFolder: folder,
      files: localFiles({ folder }),
      inputs: contentFolder(join(folder, 'cache')),
      findArchive: asked,
      findKeyring: asked,
    },
    downloads: { fetch: asked },
    guard: ownerGuard,
    machine: 'amd64',
    ...{ log() {}, progress() {} },
  };
}

function exact(wanted: Recipe, previous: Lock | undefined = lock): Promise<Lock> {
  return lockRecipe(wanted, context(), previous, { exact: true });
}

test('the lock of the recipe is taken as it is', async () => {
  expect(await exact(recipe)).toEqual(lock);
});

test('a package more is refused by name, before anybody is asked', async () => {
  const more = exact({ ...recipe, packages: [{ name: 'jq' }] });
  await expect(more).rejects.toMatchObject({
    code: 'lock-stale',
    details: { changes: expect.arrayContaining([expect.stringMatching(/^packages: /)]) },
  });
  await expect(more).rejects.toMatchObject({
    details: { changes: expect.arrayContaining([expect.stringMatching(/jq/)]) },
  });
});

test('a file beside the recipe with other content is refused by name', async () => {
  await writeFile(join(folder, 'tool'), 'another tool');
  await expect(exact(recipe)).rejects.toMatchObject({
    code: 'lock-stale',
    message: expect.stringMatching(/tool 1 has other content/),
  });
});

test('a lock of older build rules is refused, and a missing one', async () => {
  await expect(exact(recipe, { ...lock, rules: buildRules - 1 })).rejects.toMatchObject({
    code: 'lock-stale',
    details: { changes: expect.arrayContaining([`build rules ${buildRules - 1} → ${buildRules}`]) },
  });
  await expect(lockRecipe(recipe, context(), undefined, { exact: true })).rejects.toMatchObject({
    code: 'lock-stale',
    message: expect.stringMatching(/There is no lock of/),
  });
});

test('older build rules do not forget what came from an address', async () => {
  const fetched = { ...tool, from: { url: 'https://example.com/tool' } };
  const input = sampleInput('binary', 'tool', { version: '1', source: 'https://example.com/tool' });
  const before = makeLock({ ...recipe, components: [fetched] }, [input], { rules: 1, epoch: buildEpoch });
  const parts = lockParts({ ...recipe, components: [fetched] }, context(), before);
  expect(parts.map(({ kept }) => kept?.map(({ name }) => name))).toContainEqual(['tool']);
});
