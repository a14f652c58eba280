import { createHash } from 'node:crypto';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { sampleLock } from '../../test/support/inventory.ts';
import type { LockedInput } from '../domain/lock/lock.ts';
import { type DiskStore, openDiskStore } from '../oci/disks/disk-store.ts';
import type { Digest } from '../oci/layout/digest.ts';
import { checkKept, type KeptContext } from './check-kept.ts';
import { inputsTag, keptLocks, lockTag } from './kept-locks.ts';

const lockDigest: Digest = `sha256:${'1'.repeat(64)}`;
const watch = { signal: new AbortController().signal, progress() {}, log() {} };

let folder = '';
let store: DiskStore;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'imago-kept-'));
  store = await openDiskStore(join(folder, 'store'));
  const locks = keptLocks({ store: async () => store, findInput: cached });
  await locks.keep(lockDigest, lock);
  await locks.keepInputs(lockDigest, watch.signal);
});
afterEach(async () => {
  await store.close();
  await rm(folder, { recursive: true, force: true });
});

function shaOf(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

const inputs: readonly LockedInput[] = ['libc', 'runc'].map((name) => ({
  ...{ kind: 'package' as const, name, version: '1', sha256: shaOf(name), sizeBytes: name.length },
  source: `debian:pool/${name}`,
}));
const lock = { ...sampleLock(), inputs };

async function cached(sha256: string): Promise<string | undefined> {
  const name = inputs.find((input) => input.sha256 === sha256)?.name;
  if (name === undefined) return undefined;
  await writeFile(join(folder, name), name);
  return join(folder, name);
}

function blobOf(digest: Digest): string {
  return store.blobs.path(digest);
}

function check(how: Partial<KeptContext>, heal = true) {
  const context = { store: async () => store, ...how };
  return checkKept(context, keptLocks(context), { lockDigest, heal }, watch);
}

const runc: Digest = `sha256:${shaOf('runc')}`;
const damage = `input: The package runc 1 is damaged (${runc})`;

test('what is whole has no damage, and all of it is read', async () => {
  expect(await check({})).toEqual({ bytesRead: 8, found: [], healed: [], left: [] });
});

test('a version of which nothing is kept has none either', async () => {
  await keptLocks({ store: async () => store }).drop(lockDigest);
  expect(await check({})).toEqual({ bytesRead: 0, found: [], healed: [], left: [] });
});

test('a damaged input is named, and stays if no source has it', async () => {
  await writeFile(blobOf(runc), 'RUNC');
  expect(await check({})).toMatchObject({ found: [damage], healed: [], left: [damage] });
});

test('a damaged input is only named when it is not to be healed', async () => {
  await writeFile(blobOf(runc), 'RUNC');
  expect(await check({ findInput: cached }, false)).toMatchObject({ found: [damage], left: [damage] });
  expect(await readFile(blobOf(runc), 'utf8')).toBe('RUNC');
});

test('a damaged input is repaired from the build cache', async () => {
  await writeFile(blobOf(runc), 'RUNC');
  const report = await check({ findInput: cached });
  expect(report).toMatchObject({
    found: [damage],
    healed: [`${damage} (repaired from the build cache)`],
    left: [],
  });
  expect(await readFile(blobOf(runc), 'utf8')).toBe('runc');
});

test('a missing input is repaired from its source, and nothing but the right one is taken', async () => {
  await rm(blobOf(runc));
  await writeFile(join(folder, 'other'), 'other');
  const wrong = await check({ fetchInput: async () => join(folder, 'other') });
  expect(wrong.left).toEqual([`input: The package runc 1 is missing (${runc})`]);
  const right = await check({ fetchInput: (_, sha256) => cached(sha256) });
  expect(right).toMatchObject({ healed: [expect.stringContaining('repaired from its source')], left: [] });
  expect(await readFile(blobOf(runc), 'utf8')).toBe('runc');
});

test('a damaged list of inputs is made again from the lock', async () => {
  const list = await store.resolve(inputsTag(lockDigest));
  await writeFile(blobOf(list ?? lockDigest), '{}');
  const report = await check({ findInput: cached });
  expect(report.healed).toEqual([expect.stringContaining('(repaired from the lock)')]);
  expect(await check({})).toMatchObject({ bytesRead: 8, found: [] });
});

test('a damaged lock is reported, and is not taken for an absent one', async () => {
  const kept = await store.resolve(lockTag(lockDigest));
  await writeFile(blobOf(kept ?? lockDigest), '{}');
  const report = await check({ findInput: cached });
  expect(report.left).toEqual([expect.stringMatching(/^lock: .*sha256:/)]);
});
