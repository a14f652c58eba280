// What the export writes beside its pages, and what is left when it cannot be finished.
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { ImagoError } from '../../domain/error/imago-error.ts';
import type { CatalogDocument } from '../../domain/public-catalog/catalog.ts';
import { type CatalogSource, writeCatalog } from './write-catalog.ts';

let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'imago-catalog-'));
});
afterEach(() => rm(folder, { recursive: true }));

const document: CatalogDocument = {
  schemaVersion: 1,
  title: 'Images',
  generatedAt: '2026-11-16T00:00:00.000Z',
  images: [
    {
      ...{ name: 'node', os: 'linux', architecture: 'x64' },
      versions: ['1.0.1', '1.0.0'].map((version) => ({
        ...{ version, state: 'available', digest: 'sha256:a', diskDigest: 'sha256:b', sizeBytes: 1 },
        ...{ createdAt: '2026-11-15T00:00:00.000Z', channels: [], places: [] },
        described: version === '1.0.1',
      })),
    },
  ],
};

function source(readRecord: CatalogSource['readRecord']): CatalogSource {
  return { readRecord, onVersion: () => undefined, signal: AbortSignal.timeout(20_000) };
}

async function* bytes(text: string): AsyncGenerator<Uint8Array> {
  yield Buffer.from(text);
}

test('writes existing records next to the page, and links no missing ones', async () => {
  const asked: string[] = [];
  await writeCatalog(
    join(folder, 'site'),
    document,
    source(async ({ version, record }) => {
      asked.push(version);
      if (record === 'provenance') throw new ImagoError('record-not-found', 'It was not signed.');
      return bytes(record === 'notes-markdown' ? '# Notes' : '{}');
    }),
  );
  expect(new Set(asked)).toEqual(new Set(['1.0.1']));
  const beside = join(folder, 'site/images/node/1.0.1');
  expect((await readdir(beside)).toSorted()).toEqual([
    ...['index.html', 'notes.md', 'sbom.cdx.json', 'sbom.spdx.json'],
  ]);
  const page = await readFile(join(beside, 'index.html'), 'utf8');
  expect(page).toContain('<h2>Notes</h2>');
  expect(page).not.toContain('provenance.json');
  expect(await readdir(join(folder, 'site/images/node/1.0.0'))).toEqual(['index.html']);
});

test('when a record cannot be read, nothing is written and nothing is left beside', async () => {
  const writing = writeCatalog(
    join(folder, 'site'),
    document,
    source(async () => {
      throw new ImagoError('store-corrupt', 'damaged');
    }),
  );
  await expect(writing).rejects.toMatchObject({ code: 'store-corrupt' });
  expect(await readdir(folder)).toEqual([]);
});

test('given up in the middle, the export before stays as it was', async () => {
  const none = source(async () => bytes('{}'));
  await writeCatalog(join(folder, 'site'), document, none);
  const before = await readFile(join(folder, 'site/catalog.json'), 'utf8');
  const giveUp = new AbortController();
  giveUp.abort(new Error('given up'));
  const again = writeCatalog(
    join(folder, 'site'),
    { ...document, title: 'New' },
    { ...none, signal: giveUp.signal },
  );
  await expect(again).rejects.toThrow('given up');
  expect(await readFile(join(folder, 'site/catalog.json'), 'utf8')).toBe(before);
  expect(await readdir(folder)).toEqual(['site']);
});
