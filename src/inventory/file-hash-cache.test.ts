import { mkdtemp, readdir, readFile, rm, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { decodeHashes, encodeHashes, fileHashCache } from './file-hash-cache.ts';

const day = 86_400_000;
const some = new Map([
  ['1'.repeat(64), { sha256: 'a'.repeat(64), sha1: 'b'.repeat(40) }],
  ['2'.repeat(64), { sha256: 'c'.repeat(64), sha1: 'd'.repeat(40) }],
]);

let folder = '';
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'imago-memory-'));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

describe('remembered hashes of files', () => {
  test('come back for the image that they are of, the newest alone', async () => {
    const memory = fileHashCache(folder, Date.now);
    expect(await memory.recall('node')).toEqual(new Map());
    await memory.remember('node', new Map([...some].slice(0, 1)));
    await memory.remember('node', some);
    expect(await memory.recall('node')).toEqual(some);
    expect(await memory.recall('other')).toEqual(new Map());
    expect(await readdir(folder)).toHaveLength(1);
  });

  test('are not believed when any bit of them is wrong, or the end is missing', () => {
    const bytes = encodeHashes(some);
    expect(decodeHashes(bytes)).toEqual(some);
    for (let at = 0; at < bytes.length; at += 1) {
      const flipped = Buffer.from(bytes);
      flipped[at] = (flipped[at] ?? 0) ^ (1 << (at % 8));
      expect(decodeHashes(flipped)).toEqual(new Map());
      expect(decodeHashes(bytes.subarray(0, at))).toEqual(new Map());
    }
  });

  test('are forgotten by age and number, with what a killed process left', async () => {
    const memory = fileHashCache(folder, Date.now, { images: 2, ageMs: 30 * day });
    await writeFile(join(folder, 'left.draft'), '');
    const old = new Date(Date.now() - 31 * day);
    await utimes(join(folder, 'left.draft'), old, old);
    for (const [age, image] of ['first', 'second', 'third'].entries()) {
      await memory.remember(image, some);
      const at = new Date(Date.now() - (10 - age) * day);
      for (const name of await readdir(folder)) {
        const path = join(folder, name);
        if ((await readFile(path)).length > 0 && image !== 'third') await utimes(path, at, at);
      }
    }
    expect(await readdir(folder)).toHaveLength(2);
    expect((await memory.recall('third')).size).toBe(2);
  });

  test('cost nothing but time when they cannot be written', async () => {
    const blocked = join(folder, 'file');
    await writeFile(blocked, '');
    const memory = fileHashCache(blocked, Date.now);
    await memory.remember('node', some);
    expect(await memory.recall('node')).toEqual(new Map());
  });
});
