import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { StoreOwner, sweepDownloads } from './owner.ts';
import { type StorePaths, storePaths } from './paths.ts';

const some = `sha256:${'1'.repeat(64)}` as const;
const hour = 3_600_000;
let paths: StorePaths;

beforeEach(async () => {
  paths = storePaths(await mkdtemp(join(tmpdir(), 'imago-owner-')));
  for (const folder of [paths.temporary, paths.partial]) await mkdir(folder, { recursive: true });
});
afterEach(() => rm(paths.root, { recursive: true, force: true }));

describe('the owner of a store', () => {
  test('keeps blobs pinned until every hold on them is released', async () => {
    const owner = await StoreOwner.open(paths, 0);
    const [one, two] = [owner.hold(), owner.hold()];
    one.pin([some]);
    two.pin([some]);
    one.release();
    one.release();
    expect(new Set(owner.pinned())).toEqual(new Set([some]));
    two.release();
    expect(owner.pinned()).toEqual([]);
    owner.close();
  });

  test('releases everything when it closes', async () => {
    const owner = await StoreOwner.open(paths, 0);
    owner.hold().pin([some]);
    owner.close();
    owner.close();
    expect(owner.pinned()).toEqual([]);
  });

  test('is the only one, until it closes', async () => {
    const owner = await StoreOwner.open(paths, 0);
    await expect(StoreOwner.open(paths, 0)).rejects.toMatchObject({ code: 'store-busy' });
    owner.close();
    const next = await StoreOwner.open(paths, 0);
    next.close();
  });

  test('removes the unfinished files of the previous one, and not its own', async () => {
    await writeFile(join(paths.temporary, '0'), 'half a blob');
    const owner = await StoreOwner.open(paths, 0);
    expect(await readdir(paths.temporary)).toEqual([]);
    await writeFile(owner.temporaryPath(), 'being written');
    expect(await readdir(paths.temporary)).toHaveLength(1);
    owner.close();
  });

  test('runs changes one at a time', async () => {
    const owner = await StoreOwner.open(paths, 0);
    const order: string[] = [];
    const change = (name: string) =>
      owner.exclusive(async () => {
        order.push(`${name} starts`);
        await readdir(paths.root);
        order.push(`${name} ends`);
      });
    await Promise.all([change('one'), change('two')]);
    expect(order).toEqual(['one starts', 'one ends', 'two starts', 'two ends']);
    owner.close();
  });
});

test('unfinished downloads are removed once they are old', async () => {
  await writeFile(join(paths.partial, 'a'.repeat(64)), 'some bytes');
  await sweepDownloads(paths, Date.now() - hour);
  expect(await readdir(paths.partial)).toHaveLength(1);
  await sweepDownloads(paths, Date.now() + hour);
  expect(await readdir(paths.partial)).toEqual([]);
});
