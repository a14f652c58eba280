import { mkdir, mkdtemp, readdir, rm, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { pruneCache } from './prune-cache.ts';

const now = 1_800_000_000_000;
const hour = 3_600_000;
const limits = { maxBytes: 250, partialAgeMs: 24 * hour, inUseMs: hour };
let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'imago-prune-'));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

async function put(path: string, bytes: number, ageMs: number): Promise<void> {
  const file = join(folder, path);
  await mkdir(dirname(file), { recursive: true });
  await writeFile(file, Buffer.alloc(bytes));
  const at = new Date(now - ageMs);
  await utimes(file, at, at);
}

async function left(): Promise<readonly string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile())
    .map(({ name }) => name)
    .sort();
}

test('what was not used for the longest goes first, until the rest is within the limit', async () => {
  await put('inputs/aa/old', 100, 9 * hour);
  await put('layers/blobs/older', 100, 10 * hour);
  await put('inputs/bb/young', 100, 2 * hour);
  await put('layers/blobs/younger', 100, 3 * hour);
  const report = await pruneCache(folder, limits, now);
  expect(report).toEqual({ bytesBefore: 400, bytesRemoved: 200, filesRemoved: 2 });
  expect(await left()).toEqual(['young', 'younger']);
  expect((await pruneCache(folder, limits, now)).filesRemoved).toBe(0);
});

test('what a running build may be using stays, even over the limit', async () => {
  await put('inputs/aa/used', 1000, hour / 2);
  expect((await pruneCache(folder, limits, now)).filesRemoved).toBe(0);
});

test('half-made things go when nobody went on with them; what an image was last built from stays', async () => {
  await put('partial/half', 10, 25 * hour);
  await put('partial/going', 10, hour);
  await put('temporary/half', 10, 25 * hour);
  await put('locks/locked-node.json', 10, 25 * hour);
  await put('locks/built-node.json', 10, 25 * hour);
  await pruneCache(folder, limits, now);
  expect(await left()).toEqual(['built-node.json', 'going']);
});
