import { chmod, mkdir, mkdtemp, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { cacheFolders, findTool, makeCacheFolder, readToolFile } from './tools.ts';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'imago-tools-'));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

async function program(place: string, script = 'exit 0'): Promise<string> {
  const path = join(folder, place);
  await mkdir(join(path, '..'), { recursive: true });
  await writeFile(path, `#!/bin/sh\n${script}\n`);
  await chmod(path, 0o755);
  return path;
}

describe('a tool is found', () => {
  it('in IMAGO_TOOLS before the cache and the system', async () => {
    const given = await program('given/bin/qemu-img');
    await program('system/qemu-img');
    await program('cache/tools/disk/current/bin/qemu-img');
    const env = {
      IMAGO_TOOLS: join(folder, 'given'),
      IMAGO_CACHE: join(folder, 'cache'),
      PATH: join(folder, 'system'),
    };
    expect(await findTool('qemu-img', env)).toBe(given);
  });

  it('on the path only when it can do the work', async () => {
    await program('old/mke2fs', 'echo cannot read a tar >&2; exit 1');
    const good = await program('new/mke2fs', 'cat >/dev/null');
    const env = { IMAGO_CACHE: folder, PATH: `${join(folder, 'old')}:${join(folder, 'new')}` };
    expect(await findTool('mke2fs', env)).toBe(good);
  });

  it('after it was put in place, though it was missing before', async () => {
    const env = { IMAGO_TOOLS: folder, IMAGO_CACHE: join(folder, 'cache'), PATH: '/nonexistent' };
    expect(await findTool('qjsc', env)).toBeUndefined();
    const path = await program('bin/qjsc');
    expect(await findTool('qjsc', env)).toBe(path);
  });
});

it('a file comes from IMAGO_TOOLS first', async () => {
  await mkdir(join(folder, 'share'));
  await writeFile(join(folder, 'share', 'gptmbr.bin'), 'code');
  expect((await readToolFile('gptmbr.bin', { IMAGO_TOOLS: folder })).toString()).toBe('code');
});

it('ordinary users have a cache of their own and may read that of root', () => {
  expect(cacheFolders({ HOME: '/home/ann' }, 1000)).toEqual(['/home/ann/.cache/imago', '/var/cache/imago']);
  expect(cacheFolders({ XDG_CACHE_HOME: '/c' }, 1000)).toEqual(['/c/imago', '/var/cache/imago']);
  expect(cacheFolders({ HOME: '/root' }, 0)).toEqual(['/var/cache/imago']);
  expect(cacheFolders({ IMAGO_CACHE: '/given' }, 0)).toEqual(['/given']);
});

describe.runIf(process.getuid?.() === 0)('the cache of root', () => {
  let umask: number;
  beforeEach(() => {
    umask = process.umask(0o077);
  });
  afterEach(() => {
    process.umask(umask);
  });
  const modeOf = async (path: string) => (await stat(join(folder, path))).mode & 0o777;

  it('is made with its parents so that others can enter, whatever the umask', async () => {
    makeCacheFolder(join(folder, 'a/b'));
    expect([await modeOf('a'), await modeOf('a/b')]).toEqual([0o755, 0o755]);
  });

  it('is opened if it is the shared one and an earlier version closed it', async () => {
    for (const name of ['shared', 'given']) {
      await mkdir(join(folder, name));
      makeCacheFolder(join(folder, name), join(folder, 'shared'));
    }
    expect([await modeOf('shared'), await modeOf('given')]).toEqual([0o755, 0o700]);
  });
});
