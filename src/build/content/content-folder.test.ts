import { createHash } from 'node:crypto';
import { mkdtemp, readFile, rename, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type ContentFolder, contentFolder, type StoredInput } from './content-folder.ts';

let folder: string;
let store: ContentFolder;
let input: StoredInput;

const content = Buffer.from('what was taken in');
const other = Buffer.from('what was not taken');

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'imago-inputs-'));
  store = contentFolder(folder);
  input = await store.addBytes(content);
});
afterEach(() => rm(folder, { recursive: true, force: true }));

async function replaceFile(): Promise<void> {
  await writeFile(`${input.path}.new`, other);
  await rename(`${input.path}.new`, input.path);
}

/** With the size and the times that the file had. */
async function overwrite(): Promise<void> {
  const { atime, mtime } = await stat(input.path);
  await writeFile(input.path, other.subarray(0, content.length));
  await utimes(input.path, atime, mtime);
}

describe('what is damaged counts as absent, though the same store has checked it before', () => {
  test.each([
    ['a file that was replaced', replaceFile],
    ['a file that was overwritten and given its old times', overwrite],
  ])('%s', async (_, damage) => {
    expect(await store.find(input.sha256)).toEqual(input);
    await damage();
    expect(await store.find(input.sha256)).toBeUndefined();
    await expect(stat(input.path)).rejects.toMatchObject({ code: 'ENOENT' });
    expect(await store.addBytes(content)).toEqual(input);
    expect(await store.find(input.sha256)).toEqual(input);
  });

  test('a use long after the last one is noted, and does not count as damage', async () => {
    await utimes(input.path, 1000, 1000);
    expect(await store.find(input.sha256)).toEqual(input);
    expect(Date.now() - (await stat(input.path)).mtimeMs).toBeLessThan(600_000);
    expect(await store.find(input.sha256)).toEqual(input);
  });

  test('a file beside the recipe is taken in again when its copy is damaged', async () => {
    const source = join(folder, 'source');
    await writeFile(source, content);
    await utimes(source, 1000, 1000);
    await store.addFile(source);
    await replaceFile();
    expect(await store.addFile(source)).toEqual(input);
    expect(await readFile(input.path)).toEqual(content);
  });
});

describe('what is damaged after it was found fails the read, and is deleted', () => {
  test.each([
    ['in pieces', async () => buffer(store.read(input))],
    ['whole', async () => store.readBytes(input)],
  ])('%s', async (_, read) => {
    expect(await read()).toEqual(content);
    await replaceFile();
    const found = createHash('sha256').update(other).digest('hex');
    await expect(read()).rejects.toMatchObject({
      code: 'input-damaged',
      details: { expected: input.sha256, found },
    });
    expect(await store.find(input.sha256)).toBeUndefined();
  });
});
