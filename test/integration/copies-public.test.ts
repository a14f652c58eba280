// What has private inputs never gets to a public gallery, and a gallery becomes public only when nothing such is in it.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { answerDeadline } from '../../src/async/deadline.ts';
import type { GalleryRecord } from '../../src/domain/gallery/gallery.ts';
import { checkMayBePublic, makePublic } from '../../src/operations/gallery/make-public.ts';
import { copiesWorld, copyOf, options, publish } from '../support/copies-world.ts';
import { type StoreBench, startStoreBench } from '../support/store.ts';

let bench: StoreBench;

beforeAll(async () => {
  bench = await startStoreBench();
});
afterAll(() => bench.stop());

const world = (...galleries: Partial<GalleryRecord>[]) => copiesWorld(bench, ...galleries);

test('a version with private inputs never goes to a public gallery, by no way', async () => {
  const { product, first } = await world(
    { name: 'public', place: 'public', channels: ['production'], public: true },
    { name: 'inside', place: 'inside' },
    { name: 'alias', place: 'public' },
  );
  const { catalogue } = product.store;
  const known = await catalogue.getVersion('node', first);
  if (known === undefined) throw new Error('It was not built.');
  const restricted = { ...known, restricted: true as const };
  const deps = { ...product.deps.catalogue, getVersion: async () => restricted };
  Object.assign(product.deps.catalogue, { getVersion: deps.getVersion });
  const refused = { state: 'failed', error: { code: 'channel-restricted' } };
  expect(await publish(product, first, { gallery: 'public' })).toMatchObject(refused);
  expect(await publish(product, first, { gallery: 'alias' })).toMatchObject(refused);
  expect(await product.sim.galleries?.getGallery('public', options)).toBeUndefined();
  expect(await publish(product, first, { gallery: 'inside' })).toMatchObject({ state: 'succeeded' });
  for (const place of [undefined, product.sim.galleries?.own]) {
    const entry = { name: 'own', provider: 'sim', channels: [], regions: [], by: 'test' };
    await product.store.galleryBook.set({ ...entry, public: true, ...(place && { place }) });
    expect(await publish(product, first, {})).toMatchObject(refused);
    await product.store.galleryBook.remove('own');
  }
  expect(await publish(product, first, {})).toMatchObject({ state: 'succeeded' });
  await product.close();
});

test.each([
  ['a gallery of another name', 'image-publish', { gallery: 'inside' }],
  ["the provider's own", 'image-publish', {}],
  ["the provider's own, for a new pool,", 'pool-create', { name: 'web', capacity: 1 }],
])(
  '%s that becomes public while a version with private inputs is copied to it loses the copy',
  async (_what, kind, more: {
    readonly gallery?: string;
    readonly name?: string;
    readonly capacity?: number;
  }) => {
    const { product, first } = await world({ name: 'inside', place: 'inside' });
    const known = await product.store.catalogue.getVersion('node', first);
    if (known === undefined) throw new Error('It was not built.');
    const { galleryBook } = product.store;
    Object.assign(product.deps, {
      catalogue: { ...product.deps.catalogue, getVersion: async () => ({ ...known, restricted: true }) },
      galleryBook: { ...galleryBook, list: listAsSeen },
    });
    const place = more.gallery ?? product.sim.galleries?.own ?? '';
    let looks = 0;

    async function listAsSeen() {
      looks += 1;
      const copied = looks > 1 && (await copyOf(product, place, first)) !== undefined;
      return (await galleryBook.list()).concat(
        copied ? [{ ...entry, name: 'opened', place, public: true, at: '' }] : [],
      );
    }
    const input = { reference: `node:${first}`, ...more };
    expect(await product.run({ kind, subject: 'image/node', input })).toMatchObject({
      ...{ state: 'failed', error: { code: 'channel-restricted' }, exceptions: [] },
    });
    expect(await copyOf(product, place, first)).toBeUndefined();
    await product.close();
  },
);

const entry = { name: 'inside', provider: 'sim', channels: [], regions: [], by: 'ann' };

async function restrictedWorld() {
  const { product, first, second } = await world({ name: 'inside', place: 'inside' });
  const { catalogue, galleryBook } = product.store;
  const hidden = { ...catalogue, listVersions: listHidden };

  async function listHidden(...words: Parameters<typeof catalogue.listVersions>) {
    const page = await catalogue.listVersions(...words);
    return {
      ...page,
      items: page.items.map((item) =>
        item.version === first ? { ...item, restricted: true as const } : item,
      ),
    };
  }
  await publish(product, second, { gallery: 'inside' });
  return { product, first, deps: { catalogue: hidden, galleryBook, provider: product.sim, options } };
}

test('what is published while a gallery becomes public is found afterwards, and the gallery is as it was', async () => {
  const { product, first, deps } = await restrictedWorld();
  const opened = { ...entry, place: 'inside', public: true };
  const publishing = {
    ...deps.galleryBook,
    async set(...words: Parameters<typeof deps.galleryBook.set>) {
      if (words[0].public) await publish(product, first, { gallery: 'inside' });
      return deps.galleryBook.set(...words);
    },
  };
  await checkMayBePublic(deps, opened);
  const refused = { code: 'channel-restricted', details: { versions: [`node:${first}`] } };
  const racing = { ...deps, galleryBook: publishing };
  await expect(makePublic(racing, opened)).rejects.toMatchObject(refused);
  expect(await deps.galleryBook.get('inside')).toMatchObject({ public: false });
  await expect(makePublic(racing, { ...opened, name: 'alias' })).rejects.toMatchObject(refused);
  expect(await deps.galleryBook.get('alias')).toBeUndefined();
  await product.close();
});

test('a gallery that fails or does not answer is not made public', async () => {
  const { product, deps } = await restrictedWorld();
  const opened = { ...entry, place: 'inside', public: true };
  const fault = await product.sim.control.addFault({
    ...{ kind: 'fails', call: 'gallery.listImages', count: 'always' },
  });
  await expect(makePublic(deps, opened)).rejects.toMatchObject({ kind: 'provider' });
  await product.sim.control.removeFault(fault.id);
  await product.sim.control.addFault({ kind: 'slow', call: 'gallery.listImages', ms: 3_600_000, factor: 1 });
  const slow = { ...deps, options: { ...options, signal: answerDeadline(0, 'Gallery inside') } };
  await expect(makePublic(slow, opened)).rejects.toMatchObject({ code: 'provider-timeout' });
  expect(await deps.galleryBook.get('inside')).toMatchObject({ public: false });
  await product.close();
});

test.each([
  ['a gallery that nobody told of', { gallery: 'publik' }, 'gallery-not-found'],
  [
    'a region that there is not',
    { gallery: 'public', regions: [{ region: 'moon', replicas: 1 }] },
    'input-invalid',
  ],
  ['a gallery of another provider', { gallery: 'public', provider: 'local' }, 'input-invalid'],
])('%s is refused and nothing is made', async (_what, more, code) => {
  const { product, first } = await world({});
  expect(await publish(product, first, more)).toMatchObject({ state: 'failed', error: { code } });
  expect(await product.sim.galleries?.getGallery('public', options)).toBeUndefined();
  await product.close();
});
