import { spawnSync } from 'node:child_process';
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { publishFile } from './durable-files.ts';
import { withWorkFolder } from './work-folder.ts';

let parent: string;
beforeEach(async () => {
  parent = await mkdtemp(join(tmpdir(), 'imago-work-test-'));
});
afterEach(() => rm(parent, { recursive: true, force: true }));

it('nothing is left after work that ended well or badly', async () => {
  await withWorkFolder(parent, (folder) => writeFile(join(folder, 'half'), 'x'));
  await expect(withWorkFolder(parent, () => Promise.reject(new Error('broke')))).rejects.toThrow('broke');
  expect(await readdir(parent)).toEqual([]);
});

it('what a killed process left is swept up, and what a living one works on is not', async () => {
  const dead = spawnSync('true').pid;
  await mkdir(join(parent, `imago-work-${dead}-old`));
  await mkdir(join(parent, 'kept'));
  await withWorkFolder(parent, async (mine) => {
    await withWorkFolder(parent, async () => undefined);
    await writeFile(join(mine, 'still'), 'there');
    expect(await readdir(parent)).not.toContain(`imago-work-${dead}-old`);
  });
  expect(await readdir(parent)).toEqual(['kept']);
});

it('a full disk has a name of its own', async () => {
  const full = Object.assign(new Error('ENOSPC: no space left on device, write'), { code: 'ENOSPC' });
  await expect(withWorkFolder(parent, () => Promise.reject(full))).rejects.toMatchObject({
    code: 'no-space',
  });
});

it('a finished file replaces the old one atomically', async () => {
  await writeFile(join(parent, 'disk'), 'old');
  await withWorkFolder(parent, async (folder) => {
    await writeFile(join(folder, 'new'), 'new');
    await publishFile(join(folder, 'new'), join(parent, 'disk'));
  });
  expect(await readFile(join(parent, 'disk'), 'utf8')).toBe('new');
});
