// Shows that secrets of node configs are read only from files that no other user can read.
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { secretReader } from './secret-reader.ts';

let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'imago-secrets-'));
});
afterEach(() => rm(folder, { recursive: true }));

describe('a secret', () => {
  it('is the text of a file of its name', async () => {
    await writeFile(join(folder, 'join'), 'abc\n', { mode: 0o600 });
    expect(await secretReader(folder)('join')).toBe('abc\n');
  });

  it('that does not exist is `undefined`, even if the directory does not exist', async () => {
    expect(await secretReader(folder)('join')).toBeUndefined();
    expect(await secretReader(join(folder, 'none'))('join')).toBeUndefined();
  });

  it('that others can read is refused without being shown', async () => {
    await writeFile(join(folder, 'join'), 'abc', { mode: 0o644 });
    const refusal = secretReader(folder)('join');
    await expect(refusal).rejects.toMatchObject({ code: 'secret-exposed' });
    await expect(refusal).rejects.not.toThrow('abc');
  });

  it('is never outside of the folder', async () => {
    await mkdir(join(folder, 'inner'));
    await writeFile(join(folder, 'out'), 'abc', { mode: 0o600 });
    expect(await secretReader(join(folder, 'inner'))('../out')).toBeUndefined();
  });
});
