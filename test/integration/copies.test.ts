// Copies in several galleries and regions: made from the tested version, compared with it, and a region that fails is
// tried again alone.
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import type { GalleryRecord } from '../../src/domain/gallery/gallery.ts';
import { copiesWorld, copyOf, options, publish, regions, tell } from '../support/copies-world.ts';
import { createProduct } from '../support/product.ts';
import { simulateVersions, succeed } from '../support/simulated-versions.ts';
import { type StoreBench, startStoreBench } from '../support/store.ts';
import { until } from '../support/until.ts';

let bench: StoreBench;

beforeAll(async () => {
  bench = await startStoreBench();
});
afterAll(() => bench.stop());

const world = (...galleries: Partial<GalleryRecord>[]) => copiesWorld(bench, ...galleries);

test('a gallery is made by its first publication; the copy is compared by digest, and with --deep by its bytes', async () => {
  const { product, first } = await world({ regions });
  const done = await publish(product, first, { gallery: 'public' });
  expect(done).toMatchObject({
    state: 'succeeded',
    result: {
      gallery: 'public',
      compared: 'digest',
      regions: expect.arrayContaining(['eastus', 'northeurope']),
    },
  });
  expect(done.steps.map(({ name }) => name)).toEqual(['resolve', 'publish', 'regions', 'compare']);
  expect(await publish(product, first, { gallery: 'public', deep: true })).toMatchObject({
    ...{ state: 'succeeded', result: { compared: 'bytes' } },
  });
  await product.close();
});

test('the copy is made from the version in the gallery that was tested from, not from anything else', async () => {
  const { product, first } = await world({});
  await succeed(product, {
    kind: 'image-publish',
    subject: 'image/node',
    input: { reference: `node:${first}` },
  });
  await publish(product, first, { gallery: 'public' });
  expect((await copyOf(product, 'public', first))?.source).toEqual({
    ...{ kind: 'version', gallery: 'imago', image: 'node', version: first },
  });
  await product.close();
});

test('a region that fails is tried again alone; when it goes on failing, the others stay and a retry does the rest', async () => {
  const { product, first } = await world({ regions });
  const fault = await product.sim.control.addFault({
    ...{ kind: 'fails-later', call: 'gallery.*', region: 'northeurope', count: 'always' },
  });
  const failed = await publish(product, first, { gallery: 'public' });
  expect(failed).toMatchObject({
    ...{ state: 'failed', error: { code: 'provider-failed', details: { failed: ['northeurope'] } } },
  });
  expect(failed.error?.message).toContain('northeurope');
  const states = async () =>
    Object.fromEntries(
      (await copyOf(product, 'public', first))?.regions.map(({ region, state }) => [region, state]) ?? [],
    );
  expect(await states()).toMatchObject({ eastus: 'ready', northeurope: 'failed' });
  await product.sim.control.removeFault(fault.id);
  expect(await publish(product, first, { gallery: 'public' })).toMatchObject({ state: 'succeeded' });
  expect(await states()).toMatchObject({ eastus: 'ready', northeurope: 'ready' });
  await product.close();
});

test('a death at every point, lost replies and a gallery that lies: one copy, whole, in every region', async () => {
  const { product, first } = await world({ regions, channels: ['production'] });
  const died = new Set<string>();
  product.atPoint = (point) => {
    const where = JSON.stringify(point);
    if (died.has(where)) return undefined;
    died.add(where);
    return 'die';
  };
  for (const call of ['createGallery', 'createImage', 'createVersion']) {
    const role = call === 'createGallery' ? 'galleries' : 'gallery';
    await product.sim.control.addFault({ kind: 'reply-lost', call: `${role}.${call}` });
  }
  await product.sim.control.addFault({ kind: 'succeeds-but-did-nothing', call: 'gallery.updateVersion' });
  await product.sim.control.addFault({
    kind: 'fails-later',
    call: 'gallery.createVersion',
    region: 'eastus',
  });
  const input = { reference: `node:${first}`, channel: 'production', why: 'good' };
  expect(await product.run({ kind: 'promote', subject: 'image/node', input })).toMatchObject({
    state: 'succeeded',
  });
  expect(died.size).toBeGreaterThan(4);
  expect(
    (await copyOf(product, 'public', first))?.regions.map(({ region, state }) => `${region} ${state}`),
  ).toEqual(expect.arrayContaining(['westeurope ready', 'eastus ready', 'northeurope ready']));
  expect((await product.store.catalogue.getChannel('node', 'production'))?.version).toBe(first);
  await product.close();
});

test('a gallery that answers late: the channel waits until it has the version', async () => {
  const { product, first } = await world({ regions, channels: ['production'] });
  const slow = { kind: 'slow', call: 'gallery.createVersion', ms: 0, factor: 30 } as const;
  await product.sim.control.addFault(slow);
  const input = { reference: `node:${first}`, channel: 'production', why: 'good' };
  let waited = 0;
  const running = product.run({ kind: 'promote', subject: 'image/node', input });
  for (let ended = false; !ended; ) {
    const moved = (await product.store.catalogue.getChannel('node', 'production'))?.version === first;
    const copy = await copyOf(product, 'public', first);
    const ready = copy?.regions.every(({ state }) => state === 'ready') === true;
    expect(moved && !ready).toBe(false);
    if (!ready) waited += 1;
    ended = await Promise.race([
      running.then(() => true),
      new Promise<false>((look) => setTimeout(look, 20, false)),
    ]);
  }
  expect(await running).toMatchObject({ state: 'succeeded' });
  expect(waited).toBeGreaterThan(0);
  expect((await product.store.catalogue.getChannel('node', 'production'))?.version).toBe(first);
  await product.close();
});

test('cancelled while it copies, nothing half-made stays and the channel has not moved', async () => {
  const { product, first } = await world({ regions, channels: ['production'] });
  await product.sim.control.addFault({
    ...{ kind: 'slow', call: 'gallery.createVersion', ms: 0, factor: 1_000_000 },
  });
  const input = { reference: `node:${first}`, channel: 'production', why: 'good' };
  const running = product.run({ id: 'promotion', kind: 'promote', subject: 'image/node', input });
  await until('it copies', async () => (await copyOf(product, 'public', first))?.state === 'creating');
  await product.deps.desk().cancel('promotion', 'ann');
  const ended = await running;
  expect(ended).toMatchObject({ state: 'cancelled', exceptions: [] });
  expect(await copyOf(product, 'public', first)).toBeUndefined();
  expect(await product.look()).toMatchObject({ halfVersions: [] });
  expect((await product.store.catalogue.getChannel('node', 'production'))?.version).toBeUndefined();
  await product.close();
});

test('another disk under the same number is never taken for the version', async () => {
  const { product, first, second } = await world({});
  const other = await product.store.catalogue.getVersion('node', second);
  const galleries = product.sim.galleries;
  await galleries?.createGallery({ name: 'public' }, options);
  const gallery = galleries?.open('public');
  await gallery?.createImage({ name: 'node', os: 'linux', architecture: 'x64', generation: 2 }, options);
  await gallery?.createVersion(
    {
      ...{ image: 'node', version: first, regions: [], excludeFromLatest: false },
      source: { kind: 'disk', digest: other?.diskDigest ?? '' },
      tags: {},
    },
    options,
  );
  const refused = await publish(product, first, { gallery: 'public' });
  expect(refused).toMatchObject({ state: 'failed', error: { code: 'copy-differs' } });
  expect(await copyOf(product, 'public', first)).toBeDefined();
  await product.close();
});

test('where a gallery has no digests, a copy is the version only by what it was made from and its tag', async () => {
  const product = await createProduct(await bench.freshStore(), { abilities: { galleryDigest: false } });
  for (const name of ['public', 'tag', 'source']) await tell(product, { name, place: name });
  const [first = '', second = ''] = await simulateVersions(product, 2);
  expect(await publish(product, first, { gallery: 'public' })).toMatchObject({
    ...{ state: 'succeeded', result: { compared: 'source' } },
  });
  const [right, wrong] = await Promise.all(
    [first, second].map((version) => product.store.catalogue.getVersion('node', version)),
  );
  const bent = { tag: [right?.diskDigest, wrong?.digest], source: [wrong?.diskDigest, right?.digest] };
  for (const [place, [disk = '', tag = '']] of Object.entries(bent)) {
    await product.sim.galleries?.createGallery({ name: place }, options);
    const gallery = product.sim.galleries?.open(place);
    await gallery?.createImage({ name: 'node', os: 'linux', architecture: 'x64', generation: 2 }, options);
    await gallery?.createVersion(
      {
        ...{ image: 'node', version: first, regions: [], excludeFromLatest: true },
        ...{ source: { kind: 'disk', digest: disk }, tags: { 'imago-digest': tag } },
      },
      options,
    );
    const refused = await publish(product, first, { gallery: place });
    expect(refused).toMatchObject({ state: 'failed', error: { code: 'copy-differs' } });
    expect(refused.error?.message).toContain(place === 'tag' ? 'its tag says' : 'it was made from');
  }
  await product.close();
});

test('--deep finds other bytes behind the right digest', async () => {
  const { product, first } = await world({});
  const { galleries } = product.sim;
  if (galleries === undefined) throw new Error('The simulated cloud has no galleries.');
  const other = `sha256:${'0'.repeat(64)}`;
  const open = galleries.open.bind(galleries);
  vi.spyOn(galleries, 'open').mockImplementation((name) => ({
    ...open(name),
    readDigest: async () => other,
  }));
  expect(await publish(product, first, { gallery: 'public' })).toMatchObject({
    ...{ state: 'succeeded', result: { compared: 'digest' } },
  });
  const refused = await publish(product, first, { gallery: 'public', deep: true });
  expect(refused).toMatchObject({ state: 'failed', error: { code: 'copy-differs' } });
  expect(refused.error?.message).toContain(other);
  await product.close();
});
