import { mkdir, mkdtemp, rm, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { Lock } from '../../domain/lock/lock.ts';
import { hasTools, markReady, toolsKey } from './locked-tools.ts';

const lock: Lock = { format: 1, rules: 1, epoch: 0, recipe: {} as Lock['recipe'], inputs: [] };
let cache: string;
let folder: string;

beforeEach(async () => {
  cache = await mkdtemp(join(tmpdir(), 'imago-tools-'));
  folder = join(cache, 'locked-tools', toolsKey(lock));
  await mkdir(join(folder, 'root', 'sbin'), { recursive: true });
  await writeFile(join(folder, 'root', 'sbin', 'mke2fs'), 'a program');
});
afterEach(() => rm(cache, { recursive: true, force: true }));

test('tools are there once they are marked, and a use changes nothing about that', async () => {
  expect(await hasTools(cache, lock)).toBe(false);
  await markReady(folder);
  await utimes(join(folder, 'ready'), 1000, 1000);
  expect(await hasTools(cache, lock)).toBe(true);
});

test.each([
  ['changed', () => writeFile(join(folder, 'root', 'sbin', 'mke2fs'), 'another program')],
  ['removed', () => rm(join(folder, 'root', 'sbin', 'mke2fs'))],
  ['added', () => writeFile(join(folder, 'root', 'sbin', 'mkfs'), 'a program')],
])('tools of which a file was %s count as absent', async (_, damage) => {
  await markReady(folder);
  await damage();
  expect(await hasTools(cache, lock)).toBe(false);
});
