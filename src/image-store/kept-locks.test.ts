import { createHash } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { sampleInput, sampleLock } from '../../test/support/inventory.ts';
import type { Lock } from '../domain/lock/lock.ts';
import { type DiskStore, openDiskStore } from '../oci/disks/disk-store.ts';
import { collectGarbage } from '../oci/layout/collect-garbage.ts';
import { keptLocks } from './kept-locks.ts';

const never = new AbortController().signal;
const first = `sha256:${'1'.repeat(64)}`;
const second = `sha256:${'2'.repeat(64)}`;

let folder = '';
let store: DiskStore;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'imago-kept-'));
  store = await openDiskStore(join(folder, 'store'));
});

afterEach(async () => {
  await store.close();
  await rm(folder, { recursive: true, force: true });
});

async function cached(...texts: readonly string[]): Promise<(sha256: string) => Promise<string | undefined>> {
  const paths = new Map<string, string>();
  for (const text of texts) {
    const sha256 = shaOf(text);
    paths.set(sha256, join(folder, sha256));
    await writeFile(join(folder, sha256), text);
  }
  return async (sha256) => paths.get(sha256);
}

function shaOf(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

function lockOf(...texts: readonly string[]): Lock {
  const inputs = texts.map((text) =>
    sampleInput('package', text, {
      version: '1',
      sha256: shaOf(text),
      sizeBytes: text.length,
      source: `debian:pool/${text}`,
    }),
  );
  return sampleLock({}, inputs);
}

/** What the store would free when nothing but its tags keeps anything. */
async function garbage(): Promise<number> {
  return (await collectGarbage(store, { roots: [], graceMs: -1 })).blobs.length;
}

test('a lock is read as it was kept, and an unknown one is absent', async () => {
  const locks = keptLocks({ store: async () => store });
  await locks.keep(first, lockOf('runc'));
  await locks.keep(first, lockOf('runc'));
  expect(await locks.read(first)).toEqual(lockOf('runc'));
  expect(await locks.read(second)).toBeUndefined();
  expect(await locks.list()).toEqual([first]);
});

test('inputs survive garbage collection, even if another version that shared them is deleted', async () => {
  const locks = keptLocks({ store: async () => store, findInput: await cached('libc', 'runc', 'curl') });
  await locks.keep(first, lockOf('libc', 'runc'));
  await locks.keep(second, lockOf('libc', 'curl'));
  expect(await locks.keepInputs(first, never)).toMatchObject({ count: 2, missing: [] });
  expect(await locks.keepInputs(second, never)).toMatchObject({ count: 2, missing: [] });
  expect(await garbage()).toBe(0);
  await locks.drop(first);
  await garbage();
  expect((await store.readBlob(`sha256:${shaOf('libc')}`)).toString()).toBe('libc');
  await expect(store.readBlob(`sha256:${shaOf('runc')}`)).rejects.toMatchObject({ code: 'store-not-found' });
  expect(await locks.list()).toEqual([second]);
});

test('what the cache no longer has is reported by name, and added when it is present again', async () => {
  const without = keptLocks({ store: async () => store, findInput: await cached('libc') });
  await without.keep(first, lockOf('libc', 'runc'));
  expect(await without.keepInputs(first, never)).toMatchObject({
    count: 1,
    missing: ['The package runc 1'],
  });
  const again = keptLocks({ store: async () => store, findInput: await cached('runc') });
  expect(await again.keepInputs(first, never)).toMatchObject({ count: 2, missing: [] });
});

test('an input that was damaged in the cache is never kept', async () => {
  const findInput = await cached('runc');
  await writeFile((await findInput(shaOf('runc'))) ?? '', 'evil');
  const locks = keptLocks({ store: async () => store, findInput });
  await locks.keep(first, lockOf('runc'));
  await expect(locks.keepInputs(first, never)).rejects.toMatchObject({ code: 'store-corrupt' });
});
