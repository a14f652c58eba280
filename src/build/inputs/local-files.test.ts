import { mkdir, mkdtemp, realpath, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { localFiles } from './local-files.ts';

let top: string;
let folder: string;
beforeEach(async () => {
  top = await realpath(await mkdtemp(join(tmpdir(), 'imago-local-')));
  folder = join(top, 'recipe');
  await mkdir(join(folder, 'files'), { recursive: true });
  await mkdir(join(top, 'recipe-other'));
  await mkdir(join(top, 'common'));
  await writeFile(join(folder, 'files', 'tool'), 'x');
  await writeFile(join(top, 'secret'), 'x');
  await writeFile(join(top, 'common', 'tool'), 'x');
  await writeFile(join(top, 'recipe-other', 'tool'), 'x');
  await symlink('files/tool', join(folder, 'inner'));
  await symlink('../secret', join(folder, 'outer'));
  await symlink(top, join(folder, 'up'));
});
afterEach(() => rm(top, { recursive: true, force: true }));

test('finds files of the directory, also by an absolute path and by a link inside', async () => {
  const files = localFiles({ folder });
  const tool = join(folder, 'files', 'tool');
  expect(await files.find('files/tool')).toBe(tool);
  expect(await files.find('files/../files/./tool')).toBe(tool);
  expect(await files.find(tool)).toBe(tool);
  expect(await files.find('inner')).toBe(tool);
});

test.each([
  '../secret',
  '/etc/hostname',
  'files/../../secret',
  'outer',
  'up/secret',
  '../recipe-other/tool',
  '..',
])('refuses %s, which leaves the directory', async (path) => {
  await expect(localFiles({ folder }).find(path)).rejects.toMatchObject({ code: 'recipe-path-outside' });
});

test('does not reveal whether a file outside exists', async () => {
  await expect(localFiles({ folder }).find('../nothing')).rejects.toMatchObject({
    code: 'recipe-path-outside',
  });
  await expect(localFiles({ folder }).find('nothing')).rejects.toMatchObject({ code: 'file-missing' });
});

test('reads from a further directory that the caller opened, and from nothing beside it', async () => {
  const files = localFiles({ folder, roots: [join(top, 'common')] });
  expect(await files.find('../common/tool')).toBe(join(top, 'common', 'tool'));
  await expect(files.find('../secret')).rejects.toMatchObject({ code: 'recipe-path-outside' });
});

test.each(['x://../../etc/hostname', 'file:///etc/hostname', 'FTP://host/x', 'HTTP://host/x'])(
  'refuses %s, which is neither a path nor an http address',
  async (path) => {
    await expect(localFiles({ folder }).find(path)).rejects.toMatchObject({ code: 'recipe-invalid' });
  },
);

test('reads nothing without a directory', async () => {
  await expect(localFiles({}).find('etc/hostname')).rejects.toMatchObject({ code: 'recipe-local-input' });
});

test.each([{ folder: 'https://a/../../../../../..' }, { folder: '/tmp', roots: ['https://a/../..'] }])(
  'opens absolute directories only, and not %j',
  async (place) => {
    await expect(localFiles({ ...place }).find('etc/hostname')).rejects.toMatchObject({
      code: 'recipe-invalid',
    });
  },
);
