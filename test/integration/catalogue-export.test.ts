// The exported catalogue by the command itself, on a real daemon: what is in it, what never is, and what an export that
// is killed or aimed at the wrong folder leaves behind.
import { existsSync } from 'node:fs';
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { CatalogDocument } from '../../src/domain/public-catalog/catalog.ts';
import { createImago, type Imago } from '../support/imago.ts';

let imago: Imago;
let version: string;

const subscription = '00000000-0000-4000-8000-000000000001';

beforeAll(async () => {
  imago = await createImago();
  await imago.writeFile('imago.yaml', 'name: node\nnumbering: kubernetes-build\nkubernetes: 1.36.1\n');
  await imago.json([
    ...['gallery', 'add', 'public', '--provider', 'sim', '--place', 'public', '--channel', 'production'],
    ...['--region', 'eastus=2', '--public', '--subscription', subscription, '--resource-group', 'images'],
  ]);
  ({ version } = await imago.json<{ version: string }>(['build']));
  await imago.json(['test', `node:${version}`]);
  await imago.json(['channel', 'promote', `node:${version}`, '--to', 'production', '--reason', 'good']);
});
afterAll(() => imago.end());

const folder = () => join(imago.folder, 'site');

async function files(): Promise<readonly string[]> {
  const found = await readdir(folder(), { recursive: true, withFileTypes: true });
  return found
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(folder().length + 1))
    .toSorted();
}

test('story 2: a developer sees what is available, where and until when, and what to paste', async () => {
  const done = await imago.json<object>(['catalog', 'export', 'site', '--title', 'Reference images']);
  expect(done).toMatchObject({ images: 1, versions: 1 });
  expect(await files()).toEqual([
    ...['catalog.json', `images/node/${version}/index.html`],
    ...['index.html', 'regions.html', 'style.css', 'systems.html'],
  ]);
  const document = JSON.parse(await readFile(join(folder(), 'catalog.json'), 'utf8')) as CatalogDocument;
  expect(document).toMatchObject({ schemaVersion: 1, title: 'Reference images' });
  expect(document.images[0]?.versions[0]).toMatchObject({
    ...{ version, state: 'available', kubernetes: '1.36.1', channels: ['latest', 'production'] },
    ...{
      support: { endsOn: '2027-06-28' },
      places: [{ gallery: 'public', regions: ['eastus', 'westeurope'] }],
    },
  });
  const page = await readFile(join(folder(), `images/node/${version}/index.html`), 'utf8');
  const { digest } = document.images[0]?.versions[0] ?? {};
  for (const text of [digest, 'computeGallery', 'source_image_id', 'imageReference', 'az vm create']) {
    expect(page).toContain(text);
  }
  expect(page).toContain(`/galleries/public/images/node/versions/${version}`);
});

test('every link of every page leads to a file of the export', async () => {
  for (const path of (await files()).filter((name) => name.endsWith('.html'))) {
    const page = await readFile(join(folder(), path), 'utf8');
    expect(page).not.toMatch(/<script|https?:\/\/|javascript:|style="/);
    for (const [, link = ''] of page.matchAll(/(?:href|src)="([^"#]+)"/g)) {
      expect(existsSync(join(folder(), path, '..', link)), `${path}: ${link}`).toBe(true);
    }
  }
});

test('an export replaces the one before as a whole, and leaves nothing beside it', async () => {
  await writeFile(join(folder(), 'stale.html'), 'old');
  await mkdir(join(imago.folder, 'site.999999.new'));
  await imago.json(['catalog', 'export', 'site']);
  expect(await files()).not.toContain('stale.html');
  expect((await readdir(imago.folder)).filter((name) => name.startsWith('site.'))).toEqual([]);
});

test('an export that was killed between two renames is put right by the next', async () => {
  const { rename } = await import('node:fs/promises');
  await rename(folder(), `${folder()}.999999.old`);
  await imago.json(['catalog', 'export', 'site']);
  expect(existsSync(join(folder(), 'index.html'))).toBe(true);
  expect((await readdir(imago.folder)).filter((name) => name.startsWith('site.'))).toEqual([]);
});

test.each([
  ['a folder with something else in it', 'mine', 'file-exists'],
  ['a file', 'imago.yaml', 'file-exists'],
])('%s is not touched', async (_what, target, code) => {
  await mkdir(join(imago.folder, 'mine'), { recursive: true });
  await writeFile(join(imago.folder, 'mine', 'thesis.txt'), 'years of work');
  const { code: exit, out } = await imago.run(['catalog', 'export', target, '--json']);
  expect([exit, (JSON.parse(out) as { error: { code: string } }).error.code]).toEqual([4, code]);
  expect(await readFile(join(imago.folder, 'mine', 'thesis.txt'), 'utf8')).toBe('years of work');
});

test('an image that does not exist is named, and a gallery that does not answer leaves the export as it was', async () => {
  expect((await imago.run(['catalog', 'export', 'site', '--image', 'nod'])).code).toBe(3);
  const before = await readFile(join(folder(), 'catalog.json'), 'utf8');
  await imago.json(['sim', 'fault', 'add', 'gallery.listVersions', 'fails', '--count', '9']);
  expect((await imago.run(['catalog', 'export', 'site'])).code).toBe(5);
  expect(await readFile(join(folder(), 'catalog.json'), 'utf8')).toBe(before);
});
