import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { tryFileLock, waitForFileLock } from './process-lock.ts';

let folder = '';
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'imago-lock-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

describe('a file lock', () => {
  it('is held by one at a time', () => {
    const path = join(folder, 'lock');
    const first = tryFileLock(path);
    expect(first).toBeDefined();
    expect(tryFileLock(path)).toBeUndefined();
    first?.release();
    const second = tryFileLock(path);
    expect(second).toBeDefined();
    second?.release();
  });

  it('leaves nothing but the empty file behind', () => {
    const lock = tryFileLock(join(folder, 'lock'));
    expect(readdirSync(folder)).toEqual(['lock']);
    lock?.release();
    lock?.release();
    expect(readdirSync(folder)).toEqual(['lock']);
  });

  it('comes to the one who waits for it', async () => {
    const path = join(folder, 'lock');
    const first = tryFileLock(path);
    const waiting = waitForFileLock(path, 60_000);
    first?.release();
    const second = await waiting;
    expect(second).toBeDefined();
    second?.release();
  });

  it('is given up on after the time that was asked for', async () => {
    const path = join(folder, 'lock');
    const first = tryFileLock(path);
    expect(await waitForFileLock(path, 1)).toBeUndefined();
    first?.release();
  });

  it('fails with an error if the file cannot be created', () => {
    writeFileSync(join(folder, 'file'), '');
    expect(() => tryFileLock(join(folder, 'file', 'lock'))).toThrow();
  });
});
