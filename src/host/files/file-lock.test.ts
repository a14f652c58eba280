import { mkdtempSync, readdirSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { isFileLocked, tryFileLock, waitForFileLock, withFileLock } from './file-lock.ts';

let folder = '';
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'imago-lock-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

describe('a lock on a file', () => {
  test('is held by one at a time and can be taken again when released', () => {
    const path = join(folder, 'one');
    expect(isFileLocked(path)).toBe(false);
    const lock = tryFileLock(path);
    expect(lock).toBeDefined();
    expect(tryFileLock(path)).toBeUndefined();
    expect(isFileLocked(path)).toBe(true);
    lock?.release();
    lock?.release();
    expect(isFileLocked(path)).toBe(false);
  });

  test('callers of one process take turns, in order, also past one that fails', async () => {
    const path = join(folder, 'turns');
    const seen: string[] = [];
    const turn = (name: string) =>
      withFileLock(path, {}, async () => {
        seen.push(`${name} in`);
        await sleep(1);
        seen.push(`${name} out`);
        if (name === 'b') throw new Error('b failed');
      });
    const results = await Promise.allSettled([turn('a'), turn('b'), turn('c')]);
    expect(results.map((result) => result.status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
    expect(seen).toEqual(['a in', 'a out', 'b in', 'b out', 'c in', 'c out']);
  });

  test('a caller that waits too long gets an error, and the next one still gets the lock', async () => {
    const path = join(folder, 'slow');
    const held = tryFileLock(path);
    const work = async () => 'done';
    await expect(withFileLock(path, { timeoutMs: 5 }, work)).rejects.toMatchObject({ code: 'store-busy' });
    held?.release();
    await expect(withFileLock(path, {}, work)).resolves.toBe('done');
  });

  test('waiting ends when the work is cancelled', async () => {
    const path = join(folder, 'cancelled');
    const held = tryFileLock(path);
    const signal = AbortSignal.abort();
    await expect(withFileLock(path, { signal }, async () => 1)).rejects.toMatchObject({ code: 'cancelled' });
    held?.release();
  });

  test('leaves nothing but the empty file behind', () => {
    const own = mkdtempSync(join(folder, 'own-'));
    const lock = tryFileLock(join(own, 'lock'));
    expect(readdirSync(own)).toEqual(['lock']);
    lock?.release();
    lock?.release();
    expect(readdirSync(own)).toEqual(['lock']);
  });

  test('is taken by a caller that waits for it', async () => {
    const own = mkdtempSync(join(folder, 'own-'));
    const path = join(own, 'lock');
    const first = tryFileLock(path);
    const waiting = waitForFileLock(path, 60_000);
    first?.release();
    const second = await waiting;
    expect(second).toBeDefined();
    second?.release();
  });

  test('is not waited for longer than the given time', async () => {
    const own = mkdtempSync(join(folder, 'own-'));
    const path = join(own, 'lock');
    const first = tryFileLock(path);
    expect(await waitForFileLock(path, 1)).toBeUndefined();
    first?.release();
  });

  test('fails with an error if the file cannot be created', () => {
    const own = mkdtempSync(join(folder, 'own-'));
    writeFileSync(join(own, 'file'), '');
    expect(() => tryFileLock(join(own, 'file', 'lock'))).toThrow();
  });
});
