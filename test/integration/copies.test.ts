// Copies in several galleries and regions: made from the tested version, compared with it, and a region that fails is
// tried again alone.
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import type { GalleryRecord } from '../../src/domain/gallery.ts';
import { answerDeadline } from '../../src/operations/answer-deadline.ts';
import { operationKinds } from '../../src/operations/kinds.ts';
import { latestUpkeep } from '../../src/operations/latest-upkeep.ts';
import { checkMayBePublic, makePublic } from '../../src/operations/make-public.ts';
import { planCopies } from '../../src/operations/promote-copies.ts';
import { galleryLatest } from '../../src/providers/sim/latest.ts';
import { createProduct, type Product } from '../support/product.ts';
import { simulateVersions, succeed } from '../support/simulated-versions.ts';
import { type StoreBench, startStoreBench } from '../support/store.ts';

let bench: StoreBench;

beforeAll(async () => {
  bench = await startStoreBench();
});
afterAll(() => bench.stop());

async function world(...galleries: Partial<GalleryRecord>[]) {
  const product = await createProduct(await bench.freshStore());
  for (const gallery of galleries) await tell(product, gallery);
  const numbers = await simulateVersions(product, 2);
  return { product, first: numbers[0] ?? '', second: numbers[1] ?? '' };
}

function tell(product: Product, gallery: Partial<GalleryRecord>) {
  const usual = {
    name: 'public',
    provider: 'sim',
    place: 'public',
    channels: [],
    regions: [],
    public: false,
  };
  return product.store.galleryBook.set({ ...usual, by: 'ann', ...gallery });
}

function publish(product: Product, version: string, more: object) {
  return product.run({
    kind: 'image-publish',
    subject: 'image/node',
    input: { reference: `node:${version}`, ...more },
  });
}

const regions = [
  { region: 'eastus', replicas: 2 },
  { region: 'northeurope', replicas: 1 },
];
const options = { signal: AbortSignal.timeout(600_000), epoch: 0 };

function copyOf(product: Product, gallery: string, version: string) {
  return product.sim.galleries?.open(gallery).getVersion('node', version, options);
}

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
  while ((await copyOf(product, 'public', first).catch(() => undefined))?.state !== 'creating') {
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
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

test('production has a gallery of its own: it gets the tested version before the channel moves, staging does not', async () => {
  const { product, first, second } = await world(
    { name: 'staging', place: 'staging', channels: ['staging'] },
    { name: 'public', place: 'public', channels: ['production'], regions, public: true },
  );
  const promote = (version: string, channel: string) =>
    product.run({
      kind: 'promote',
      subject: 'image/node',
      input: { reference: `node:${version}`, channel, why: 'good' },
    });
  expect(await promote(first, 'staging')).toMatchObject({ state: 'succeeded' });
  expect(await copyOf(product, 'staging', first)).toMatchObject({ state: 'ready' });
  expect(await copyOf(product, 'public', first)).toBeUndefined();
  expect(await promote(first, 'production')).toMatchObject({ state: 'succeeded' });
  expect((await copyOf(product, 'public', first))?.regions.map(({ state }) => state)).toEqual(
    expect.arrayContaining(['ready', 'ready']),
  );
  const channel = () => product.store.catalogue.getChannel('node', 'production');
  await product.sim.control.addFault({
    kind: 'fails-later',
    call: 'gallery.*',
    region: 'eastus',
    count: 'always',
  });
  expect(await promote(second, 'production')).toMatchObject({ state: 'failed' });
  expect((await channel())?.version).toBe(first);
  await product.close();
});

test('a channel goes back only to what its galleries have: what is gone there is copied first, or it stays', async () => {
  const { product, first, second } = await world({ channels: ['production'], regions });
  const on = { subject: 'image/node' };
  for (const version of [first, second]) {
    const input = { reference: `node:${version}`, channel: 'production', why: 'good' };
    await succeed(product, { ...on, kind: 'promote', input });
  }
  await product.sim.galleries?.open('public').deleteVersion('node', first, options);
  while ((await copyOf(product, 'public', first)) !== undefined) await product.sim.clock.sleep(1000);
  const channel = async () => (await product.store.catalogue.getChannel('node', 'production'))?.version;
  const back = {
    ...{ ...on, kind: 'rollback-channel' },
    input: { image: 'node', channel: 'production', why: 'it is slow' },
  };
  const fault = await product.sim.control.addFault({
    ...{ kind: 'fails-later', call: 'gallery.*', region: 'eastus', count: 'always' },
  });
  expect(await product.run(back)).toMatchObject({ state: 'failed', error: { code: 'provider-failed' } });
  expect(await channel()).toBe(second);
  await product.sim.control.removeFault(fault.id);
  expect((await product.run(back)).steps.map(({ name }) => name)).toEqual([
    'target',
    'copies',
    'move',
    'attest',
    'latest',
  ]);
  expect(await channel()).toBe(first);
  expect((await copyOf(product, 'public', first))?.regions).toMatchObject(
    ['westeurope', 'eastus', 'northeurope'].map((region) => ({ region, state: 'ready' })),
  );
  await product.close();
});

/** What the gallery itself means by `latest`, in each of its regions. */
async function latestOf(product: Product, gallery: string) {
  const page = await product.sim.galleries?.open(gallery).listVersions('node', { limit: 100 }, options);
  return ['westeurope', 'eastus', 'northeurope'].map(
    (region) => galleryLatest(page?.items ?? [], region)?.version,
  );
}

const everywhere = (version: string | undefined) => [version, version, version];

test('a gallery’s own latest is what its channel points at, through promotion, rollback, withdrawal and restore', async () => {
  const { product, first, second } = await world(
    { channels: ['production'], regions },
    { name: 'stage', place: 'stage', channels: ['staging'], regions },
  );
  const on = { subject: 'image/node' };
  const promote = (version: string, channel = 'production') =>
    succeed(product, {
      ...{ ...on, kind: 'promote', input: { reference: `node:${version}`, channel, why: 'good' } },
    });
  for (const version of [first, second]) await promote(version, 'staging');
  expect(await latestOf(product, 'stage')).toEqual(everywhere(undefined));
  for (const version of [first, second]) {
    await promote(version);
    expect(await latestOf(product, 'public')).toEqual(everywhere(version));
  }
  const back = { image: 'node', channel: 'production', why: 'it is slow' };
  await succeed(product, { ...on, kind: 'rollback-channel', input: back });
  expect(await latestOf(product, 'public')).toEqual(everywhere(first));
  await promote(second);
  expect(await latestOf(product, 'public')).toEqual(everywhere(second));
  const bad = { image: 'node', version: second };
  await succeed(product, { ...on, kind: 'withdraw', input: { ...bad, reason: 'it is broken' } });
  expect(await latestOf(product, 'public')).toEqual(everywhere(first));
  await succeed(product, { ...on, kind: 'restore-version', input: { ...bad, why: 'it was not' } });
  expect(await latestOf(product, 'public')).toEqual(everywhere(first));
  await product.close();
});

test('a gallery that does not take the word fails no move: it is named, and the upkeep tells it again', async () => {
  const { product, first } = await world({ channels: ['production'], regions });
  const fault = await product.sim.control.addFault({
    ...{ kind: 'succeeds-but-did-nothing', call: 'gallery.updateVersion', count: 'always' },
  });
  const input = { reference: `node:${first}`, channel: 'production', why: 'good' };
  const promotion = await succeed(product, { kind: 'promote', subject: 'image/node', input });
  expect(promotion.result).toMatchObject({
    ...{ version: first, untold: [expect.stringContaining('Gallery public was not told what latest is')] },
  });
  const upkeep = latestUpkeep(product.deps);
  expect(await upkeep.round(options.signal)).toEqual([]);
  expect(await latestOf(product, 'public')).toEqual(everywhere(undefined));
  await product.sim.control.removeFault(fault.id);
  expect(await upkeep.round(options.signal)).toEqual([]);
  while ((await copyOf(product, 'public', first))?.state !== 'ready') await product.sim.clock.sleep(1000);
  expect(await latestOf(product, 'public')).toEqual(everywhere(first));
  await product.close();
});

test('a withdrawal waits for no gallery: what the channel went back to is copied afterwards, and a retry copies what failed', async () => {
  const { product, first, second } = await world({ channels: ['production'], regions });
  const { catalogue } = product.store;
  const where = { image: 'node', channel: 'production', by: 'ann', why: 'good' };
  await catalogue.moveChannel({ ...where, to: first });
  await succeed(product, {
    ...{ kind: 'promote', subject: 'image/node' },
    input: { reference: `node:${second}`, channel: 'production', why: 'good' },
  });
  expect(await copyOf(product, 'public', first)).toBeUndefined();
  const input = { image: 'node', version: second, reason: 'it is broken' };
  const kind = operationKinds(product.deps).get('withdraw');
  expect(await kind?.plan?.({ ...input, descendants: false, replace: false } as never, 'ann')).toEqual(
    expect.arrayContaining([
      `Then copy node:${first} to gallery public (3 in westeurope, 3 in eastus, 3 in northeurope), unless it has it.`,
      `Then offer ${first} as latest in gallery public, and leave out ${second}.`,
    ]),
  );
  const fault = await product.sim.control.addFault({
    ...{ kind: 'fails-later', call: 'gallery.*', region: 'eastus', count: 'always' },
  });
  const withdraw = () => product.run({ kind: 'withdraw', subject: 'image/node', input });
  const failed = await withdraw();
  expect(failed).toMatchObject({ state: 'failed', error: { code: 'nodes-left' }, exceptions: [] });
  expect(failed.error?.message).toContain(
    `node:production went back to ${first}, which gallery public does not have`,
  );
  expect(await catalogue.getVersion('node', second)).toMatchObject({ state: 'withdrawn' });
  expect(await catalogue.getChannel('node', 'production')).toMatchObject({ version: first });
  const states = async () =>
    Object.fromEntries(
      (await copyOf(product, 'public', first))?.regions.map(({ region, state }) => [region, state]) ?? [],
    );
  expect(await states()).toEqual({ westeurope: 'ready', eastus: 'failed', northeurope: 'ready' });
  await product.sim.control.removeFault(fault.id);
  const done = await withdraw();
  expect(done).toMatchObject({ state: 'succeeded', result: { copies: [{ gallery: 'public' }] } });
  expect(done.steps.map(({ name }) => name)).toEqual([
    ...['withdraw', 'pools', 'galleries', 'copies', 'latest', 'replace', 'report'],
  ]);
  expect(await states()).toEqual({ westeurope: 'ready', eastus: 'ready', northeurope: 'ready' });
  expect(await latestOf(product, 'public')).toEqual(everywhere(first));
  await product.close();
});

test('a withdrawal that is cancelled while it copies stands, and leaves nothing half-made', async () => {
  const { product, first, second } = await world({ channels: ['production'], regions });
  const { catalogue } = product.store;
  const where = { image: 'node', channel: 'production', by: 'ann', why: 'good' };
  for (const to of [first, second]) await catalogue.moveChannel({ ...where, to });
  // Nothing settles and no deadline passes, until time runs again.
  await product.sim.control.setTime({ scale: 1 });
  const input = { image: 'node', version: second, reason: 'it is broken' };
  const ending = product.run({ id: 'out', kind: 'withdraw', subject: 'image/node', input });
  const copyState = async () => (await copyOf(product, 'public', first).catch(() => undefined))?.state;
  await expect.poll(copyState).toBe('creating');
  expect(await catalogue.getVersion('node', second)).toMatchObject({ state: 'withdrawn' });
  await product.deps.desk().cancel('out', 'ann');
  // One that is whole by then would stay.
  await expect.poll(copyState).not.toBe('creating');
  await product.sim.control.setTime({ scale: 200_000 });
  expect(await ending).toMatchObject({ state: 'cancelled', exceptions: [] });
  expect(await copyOf(product, 'public', first)).toBeUndefined();
  expect(await catalogue.getChannel('node', 'production')).toMatchObject({ version: first });
  await product.close();
});

test('copies are as many as the followers can start from at once, and 3 or more where it is not for testing', async () => {
  const { product, first, second } = await world({
    ...{ channels: ['staging', 'production'], regions: [{ region: 'eastus', replicas: 5 }] },
  });
  const replicas = async (version: string) =>
    (await copyOf(product, 'public', version))?.regions.map(({ region, replicas: n }) => `${region} ${n}`);
  const promote = async (version: string, channel: string) => {
    const input = { reference: `node:${version}`, channel, why: 'good' };
    await succeed(product, { kind: 'promote', subject: 'image/node', input });
    return replicas(version);
  };
  expect(await promote(first, 'staging')).toEqual(['westeurope 1', 'eastus 5']);
  expect(await promote(first, 'production')).toEqual(['westeurope 3', 'eastus 5']);
  const pool = { name: 'web', reference: 'node:production', capacity: 61 };
  await succeed(product, { kind: 'pool-create', subject: 'pool/web', input: pool });
  const next = await product.store.catalogue.getVersion('node', second);
  if (next === undefined) throw new Error('It was not built.');
  expect(await planCopies(product.deps, 'production', next)).toEqual([
    'Copy it to gallery public first (4 in westeurope, 5 in eastus).',
  ]);
  expect(await promote(second, 'production')).toEqual(['westeurope 4', 'eastus 5']);
  await product.close();
});

test('a channel of one Kubernetes version fills the galleries of the channel whose place it takes, and its own', async () => {
  const { product, first } = await world(
    { name: 'public', place: 'public', channels: ['production'], regions },
    { name: 'line', place: 'line', channels: ['production-1-35'] },
    { name: 'other', place: 'other', channels: ['production-1-34', 'staging'] },
  );
  await product.store.catalogue.createChannel({
    ...{ image: 'node', name: 'production-1-35', forTesting: false, public: false },
  });
  await succeed(product, {
    ...{ kind: 'promote', subject: 'image/node' },
    input: { reference: `node:${first}`, channel: 'production-1-35', why: 'good' },
  });
  expect((await copyOf(product, 'public', first))?.regions).toMatchObject(
    ['westeurope', 'eastus', 'northeurope'].map((region) => ({ region, state: 'ready' })),
  );
  expect(await copyOf(product, 'line', first)).toMatchObject({ state: 'ready' });
  expect(await product.sim.galleries?.getGallery('other', options)).toBeUndefined();
  await product.close();
});

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
