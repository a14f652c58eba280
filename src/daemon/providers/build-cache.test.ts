import { mkdir, mkdtemp, readdir, rm, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { ownedName } from '../../host/process/owned-name.ts';
import { buildChecks } from '../doctor/build.ts';
import { buildCacheFolder } from './build-cache.ts';
import { openImages } from './images.ts';

let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'imago-build-cache-'));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

function images() {
  const env = { IMAGO_CACHE: join(folder, 'cache') };
  return openImages({ home: join(folder, 'home'), env, uid: 1000, version: '0', now: Date.now });
}

async function put(path: string, bytes: number): Promise<void> {
  const file = join(folder, 'cache', 'build', path);
  await mkdir(dirname(file), { recursive: true });
  await writeFile(file, Buffer.alloc(bytes));
  await utimes(file, 1000, 1000);
}

test('trimming deletes what killed builds left behind, and opens no store', async () => {
  await put(`temporary/${ownedName().replace(/^\d+-\d+/, '1-1')}`, 780);
  await put('partial/half', 20);
  await put('content/aa/one', 100);
  const { cache } = images();
  expect(await cache.use()).toMatchObject({ bytes: 120, limitBytes: 30 * 1024 ** 3 });
  expect(await cache.trim()).toBe(800);
  expect(await cache.use()).toMatchObject({ bytes: 100 });
  expect(await cache.trim()).toBe(0);
  expect(await readdir(folder)).toEqual(['cache']);
});

test('a cache that was never used is not made by looking at it', async () => {
  const { cache } = images();
  expect(await cache.use()).toBeUndefined();
  expect(await cache.trim()).toBe(0);
  expect(await readdir(folder)).toEqual([]);
});

test('doctor tells the size of the build cache and its limit', async () => {
  await put('content/aa/one', 2048);
  const processEnv = { env: { IMAGO_CACHE: join(folder, 'cache') }, uid: 1000 };
  const check = buildChecks(processEnv).find(({ id }) => id === 'build.cache');
  expect(await check?.run(new AbortController().signal)).toEqual({
    state: 'ok',
    detail: `2 KiB of at most 30 GiB in ${buildCacheFolder('', processEnv.env, 1000)}.`,
  });
});
