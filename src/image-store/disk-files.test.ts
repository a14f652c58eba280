import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { diskFiles } from './disk-files.ts';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'imago-uploads-'));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const signal = AbortSignal.timeout(60_000);
const left = () => readdir(join(folder, 'uploads'));
const files = (quota: number, now = Date.now) =>
  diskFiles({ store: () => Promise.reject(new Error('no store')), workFolder: folder, now }, quota);

async function* bytes(count: number, wait?: Promise<unknown>) {
  for (let at = 0; at < count; at += 1) {
    if (at === 1) await wait;
    yield Buffer.alloc(1000, 1);
  }
}

test('uploads up to the quota are stored, and one more is refused and leaves nothing', async () => {
  const store = files(10_000);
  await store.upload(bytes(6), signal);
  await expect(store.upload(bytes(6), signal)).rejects.toMatchObject({ code: 'upload-quota' });
  expect(await left()).toHaveLength(1);
  await store.upload(bytes(4), signal);
});

test('two uploads at the same time share the quota', async () => {
  const store = files(10_000);
  const gate = Promise.withResolvers<void>();
  const both = [store.upload(bytes(6, gate.promise), signal), store.upload(bytes(6, gate.promise), signal)];
  gate.resolve();
  const ends = await Promise.allSettled(both);
  expect(ends.some(({ status }) => status === 'rejected')).toBe(true);
  expect((await left()).length).toBeLessThan(2);
});

test('an endless upload is stopped at the quota', async () => {
  await expect(files(50_000).upload(bytes(Number.POSITIVE_INFINITY), signal)).rejects.toMatchObject({
    code: 'upload-quota',
  });
  expect(await left()).toEqual([]);
});
