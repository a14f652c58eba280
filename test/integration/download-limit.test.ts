// A body that is larger than its request allows is cut off there, and nothing of it stays.
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { contentFolder } from '../../src/build/content/content-folder.ts';
import { createDownloader } from '../../src/build/inputs/download.ts';
import { type FileServer, startFileServer } from '../support/file-server.ts';

let folder: string;
let server: FileServer;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'imago-limit-'));
  server = await startFileServer();
});
afterEach(async () => {
  await server.close();
  await rm(folder, { recursive: true, force: true });
});

test.each([
  ['of a size that is told', true],
  ['without an end', false],
])('a page %s', async (_what, isTold) => {
  server.files.set('/page', (_, response) => {
    response.writeHead(200, isTold ? { 'content-length': 2 ** 30 } : {});
    const more = () => {
      while (!response.destroyed && response.write(Buffer.alloc(65_536)));
    };
    response.on('drain', more);
    more();
  });
  const downloads = createDownloader(folder, contentFolder(folder));
  const fetching = downloads.fetch({ url: `${server.address}/page`, label: 'The page', maxBytes: 100_000 });
  await expect(fetching).rejects.toMatchObject({
    code: 'input-mismatch',
    message: expect.stringContaining('larger than'),
    hint: expect.not.stringContaining('sha256'),
  });
  const left = (await readdir(join(folder, 'partial'))).filter((name) => !name.endsWith('.lock'));
  expect(left).toEqual([]);
});
