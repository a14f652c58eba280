import { createHash } from 'node:crypto';
import { lstatSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { SentEntry } from '../../domain/recipe/sent-files.ts';
import { pruneCache } from '../content/prune.ts';
import { localFiles } from './local-files.ts';
import { type SentFilesOptions, sentFiles } from './sent-files.ts';

const { signal } = new AbortController();
const shaOf = (text: string) => createHash('sha256').update(text).digest('hex');
const framed = (text: string) => `${shaOf(text)} ${Buffer.byteLength(text)}\n${text}`;
const entry = (path: string, text: string, more = {}): SentEntry => ({
  ...{ type: 'file', path, sha256: shaOf(text), sizeBytes: Buffer.byteLength(text) },
  ...more,
});

/** In pieces that end within lines and files. */
async function* pieces(text: string, size = 7) {
  const bytes = Buffer.from(text);
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

describe('files that a client sends', () => {
  let cacheFolder: string;
  beforeEach(() => {
    cacheFolder = mkdtempSync(join(tmpdir(), 'imago-sent-'));
  });
  afterEach(() => rmSync(cacheFolder, { recursive: true }));

  const open = (more: Partial<SentFilesOptions> = {}) =>
    sentFiles({ cacheFolder, prune: async () => undefined, ...more });
  const listOf = (folder: string, ...entries: SentEntry[]) => JSON.stringify({ folder, entries });

  test('are requested once, and become a directory that the recipe reads like one of its own', async () => {
    const sent = open();
    const list = listOf(
      'recipes/node',
      entry('recipes/node/tool', 'tool', { executable: true }),
      { type: 'directory', path: 'common/empty' },
      entry('common/note', 'note'),
      { type: 'link', path: 'common/link', to: 'note' },
    );
    expect(await sent.place(shaOf(list))).toEqual({ missing: [{ sha256: shaOf(list) }] });
    await sent.receive(pieces(framed(list) + framed('tool')), signal);
    expect(await sent.place(shaOf(list))).toEqual({ missing: [{ sha256: shaOf('note'), sizeBytes: 4 }] });
    expect(await sent.receive(pieces(framed('note')), signal)).toEqual({ files: 1 });
    expect(await sent.place(shaOf(list))).toEqual({ missing: [] });
    const files = localFiles({ sent: shaOf(list) }, cacheFolder);
    const tool = await files.find('tool');
    expect(lstatSync(tool).mode & 0o777).toBe(0o755);
    expect(readFileSync(await files.find('../../common/link'), 'utf8')).toBe('note');
    await expect(files.find('../../../../../etc/passwd')).rejects.toMatchObject({
      code: 'recipe-path-outside',
    });
    await expect(files.find('/etc/passwd')).rejects.toMatchObject({ code: 'recipe-path-outside' });
  });

  test('stay as far as they are complete when the connection is lost, and nothing else does', async () => {
    const sent = open();
    const list = listOf('', entry('a', 'first'), entry('b', 'second'));
    const cut = (framed(list) + framed('first') + framed('second')).slice(0, -3);
    await expect(sent.receive(pieces(cut), signal)).rejects.toMatchObject({ code: 'input-invalid' });
    expect(await sent.place(shaOf(list))).toEqual({ missing: [{ sha256: shaOf('second'), sizeBytes: 6 }] });
  });

  test('are refused if they are not what their line says', async () => {
    const changed = `${shaOf('old')} 3\nnew`;
    await expect(open().receive(pieces(changed), signal)).rejects.toMatchObject({ code: 'input-mismatch' });
    for (const bad of ['hello\n', `${'a'.repeat(64)} -1\n`, 'x'.repeat(500)]) {
      await expect(open().receive(pieces(bad), signal)).rejects.toMatchObject({ code: 'input-invalid' });
    }
    const outside = JSON.stringify({ folder: '', entries: [entry('../x', 'x')] });
    await open().receive(pieces(framed(outside)), signal);
    await expect(open().place(shaOf(outside))).rejects.toMatchObject({ code: 'input-invalid' });
  });

  test('have a limit for each recipe, and one for the cache', async () => {
    const list = listOf('', entry('a', 'x'.repeat(40)));
    await open().receive(pieces(framed(list)), signal);
    const refused = { code: 'upload-quota' };
    await expect(open({ maxBytes: 30 }).place(shaOf(list))).rejects.toMatchObject(refused);
    await expect(open({ quotaBytes: 30 }).place(shaOf(list))).rejects.toMatchObject(refused);
    const content = framed('x'.repeat(40));
    await expect(open({ maxBytes: 30 }).receive(pieces(content), signal)).rejects.toMatchObject(refused);
    await expect(open({ quotaBytes: 30 }).receive(pieces(content), signal)).rejects.toMatchObject(refused);
  });

  test('are made into one directory by two concurrent requests', async () => {
    const list = listOf('', entry('a', 'a'));
    await open().receive(pieces(framed(list) + framed('a')), signal);
    const placed = await Promise.all([open().place(shaOf(list)), open().place(shaOf(list))]);
    expect(placed).toEqual([{ missing: [] }, { missing: [] }]);
  });

  test('are pruned with the cache, and then have to be sent again', async () => {
    const list = listOf('', entry('a', 'a'));
    const sent = open();
    await sent.receive(pieces(framed(list) + framed('a')), signal);
    await sent.place(shaOf(list));
    const limits = { maxBytes: 0, partialAgeMs: 0, inUseMs: 0 };
    await pruneCache(cacheFolder, limits, Date.now() + 1000);
    await expect(localFiles({ sent: shaOf(list) }, cacheFolder).find('a')).rejects.toMatchObject({
      code: 'file-missing',
      hint: expect.stringContaining('again'),
    });
    expect(await sent.place(shaOf(list))).toEqual({ missing: [{ sha256: shaOf(list) }] });
  });
});
