import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { type Lock, makeLock } from '../domain/lock/lock.ts';
import type { Recipe } from '../domain/recipe/recipe.ts';
import { buildRules } from './lock/rules.ts';
import { lockCache } from './lock-cache.ts';

const minute = 60_000;
const begin = 1_800_000_000_000;
let folder: string;
let now: number;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'imago-locks-'));
  now = begin;
});
afterEach(() => rm(folder, { recursive: true, force: true }));

function recipe(kubernetes: string): Recipe {
  return {
    ...{ name: 'node', numbering: 'semver', os: 'linux', architecture: 'x64', kubernetes },
    ...{ components: [], settings: {} },
  };
}

function lockOf(kubernetes: string): Lock {
  return makeLock(recipe(kubernetes), [], { rules: buildRules, epoch: 0 });
}

const locks = () => lockCache(folder, () => now);

test('a lock that was made a short while ago serves every version of the image', async () => {
  await locks().remember(lockOf('1.34.2'), now);
  now += 5 * minute;
  expect(await locks().previous(recipe('1.34.3'))).toEqual({ lock: lockOf('1.34.2'), at: begin });
});

test('locks that are made from it do not make it younger', async () => {
  await locks().remember(lockOf('1.34.2'), begin);
  now += 14 * minute;
  const previous = await locks().previous(recipe('1.34.2'));
  await locks().remember(lockOf('1.34.2'), previous?.at ?? now);
  now += 2 * minute;
  expect(await locks().previous(recipe('1.34.2'))).toBeUndefined();
});

test('one from a clock that was ahead is not taken', async () => {
  await locks().remember(lockOf('1.34.2'), begin + 60 * minute);
  expect(await locks().previous(recipe('1.34.2'))).toBeUndefined();
});

test('a lock of other build rules explains nothing', async () => {
  await locks().rememberBuilt({ ...lockOf('1.34.2'), rules: buildRules + 1 });
  expect(await locks().lastBuilt(recipe('1.34.2'))).toBeUndefined();
  await locks().rememberBuilt(lockOf('1.34.2'));
  expect(await locks().lastBuilt(recipe('1.34.2'))).toEqual(lockOf('1.34.2'));
  expect(await locks().lastBuilt(recipe('1.34.3'))).toBeUndefined();
});
