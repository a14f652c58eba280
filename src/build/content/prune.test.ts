import { mkdir, mkdtemp, readdir, rm, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { tryFileLock } from '../../host/files/file-lock.ts';
import { ownedName } from '../../host/process/owned-name.ts';
import { cacheBytes, pruneCache, sweepTemporary } from './prune.ts';

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
  await put('content/aa/old', 100, 9 * hour);
  await put('content/cc/older.tar', 100, 10 * hour);
  await put('content/bb/young', 100, 2 * hour);
  await put('content/dd/younger.tar', 100, 3 * hour);
  const report = await pruneCache(folder, limits, now);
  expect(report).toEqual({ bytesBefore: 400, bytesRemoved: 200, filesRemoved: 2 });
  expect(await left()).toEqual(['young', 'younger.tar']);
  expect((await pruneCache(folder, limits, now)).filesRemoved).toBe(0);
});

test('what a running build may be using stays, even over the limit', async () => {
  await put('content/aa/used', 1000, hour / 2);
  expect((await pruneCache(folder, limits, now)).filesRemoved).toBe(0);
});

test('unfinished work goes when it is old; the lock that an image was last built from stays', async () => {
  await put('partial/half', 10, 25 * hour);
  await put('partial/going', 10, hour);
  await put('temporary/half', 10, 25 * hour);
  await put('records/locked/node.json', 10, 25 * hour);
  await put('records/built/built-node.json', 10, 25 * hour);
  await pruneCache(folder, limits, now);
  expect(await left()).toEqual(['built-node.json', 'going']);
});

const key = 'a'.repeat(64);
const blob = 'b'.repeat(64);

async function putText(path: string, text: string, ageMs: number): Promise<void> {
  await put(path, 0, ageMs);
  const file = join(folder, path);
  await writeFile(file, text);
  const at = new Date(now - ageMs);
  await utimes(file, at, at);
}

test('trees, tools, and indexes count and go as a whole, with the record of a layer that is gone', async () => {
  const record = JSON.stringify({ key, sha256: blob, sizeBytes: 300 });
  await putText(`content/keys/${key}.json`, record, 9 * hour);
  await put(`content/bb/${blob}.tar`, 100, 9 * hour);
  await put(`trees/root/${key}.mark`, 0, 8 * hour);
  await put(`trees/root/${key}/etc/passwd`, 1, 8 * hour);
  await put('locked-tools/one/ready', 0, 7 * hour);
  await put('locked-tools/one/root/mke2fs', 100, 50 * hour);
  await put('apt/one/debian.sources', 10, 6 * hour);
  await put('apt/one/state/lists/Packages', 90, 50 * hour);
  expect(await cacheBytes(folder)).toBe(600 + record.length);
  expect(await pruneCache(folder, limits, now)).toMatchObject({
    bytesBefore: 600 + record.length,
    bytesRemoved: 400 + record.length,
  });
  expect(await left()).toEqual(['Packages', 'debian.sources', 'mke2fs', 'ready']);
  expect((await pruneCache(folder, limits, now)).filesRemoved).toBe(0);
});

test('a tree that cannot be removed stops nothing, and is not reported as removed', async () => {
  await put(`trees/root/${key}.mark`, 0, 8 * hour);
  await put('content/aa/one', 300, 7 * hour);
  const report = await pruneCache(folder, limits, now, async (path) => {
    if (path.includes('trees')) throw new Error('not yours');
    await rm(path, { recursive: true, force: true });
  });
  expect(report).toEqual({ bytesBefore: 300, bytesRemoved: 300, filesRemoved: 1 });
});

/** The name of a file of a process that has exited. */
const dead = ownedName().replace(/^\d+-\d+/, '1-1');

test('files of killed processes go with the next job, regardless of their age, and no others', async () => {
  const own = ownedName();
  await put(`temporary/${dead}`, 10, 0);
  await put(`temporary/${own}`, 10, 0);
  await sweepTemporary(folder);
  expect(await left()).toEqual([own]);
});

test('directories that killed processes left go with a pass', async () => {
  await put(`temporary/overlay-${dead}/lower/file`, 1, 0);
  await put(`work/build-${dead}/0.tar`, 1, 0);
  await put(`work/${ownedName('build-')}/1.tar`, 1, 0);
  await pruneCache(folder, limits, Date.now());
  expect(await left()).toEqual(['1.tar']);
});

test('staged tools, idle locks, and caches of earlier versions go by their age', async () => {
  await put('records/sealed/one.json', 10, 99 * hour);
  await put('locked-tools/one.4711.new', 10, 25 * hour);
  await put('locked-tools/two.4711.new', 10, hour);
  await put('content/keys/old.lock', 0, 25 * hour);
  await put('content/keys/held.lock', 0, 25 * hour);
  await put('content/keys/young.lock', 0, hour);
  await put('sealed/earlier.json', 10, 25 * hour);
  const held = tryFileLock(join(folder, 'content/keys/held.lock'));
  await pruneCache(folder, limits, now);
  held?.release();
  expect(await left()).toEqual(['held.lock', 'one.json', 'two.4711.new', 'young.lock']);
});
