// Channels and galleries: a channel moves only to what its galleries have, and a gallery’s own latest follows it.
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { GalleryRecord } from '../../src/domain/gallery/gallery.ts';
import { planCopies } from '../../src/operations/channel/copies.ts';
import { operationKinds } from '../../src/operations/kinds.ts';
import { latestUpkeep } from '../../src/operations/reconcile/latest.ts';
import { copiesWorld, copyOf, options, regions } from '../support/copies-world.ts';
import type { Product } from '../support/product.ts';
import { galleryLatest } from '../support/sim/latest.ts';
import { succeed } from '../support/simulated-versions.ts';
import { type StoreBench, startStoreBench } from '../support/store.ts';

let bench: StoreBench;

beforeAll(async () => {
  bench = await startStoreBench();
});
afterAll(() => bench.stop());

const world = (...galleries: Partial<GalleryRecord>[]) => copiesWorld(bench, ...galleries);

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
    'latest',
    'attest',
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
    ...{
      version: first,
      unsynced: [expect.stringContaining('Gallery public did not receive what latest is')],
    },
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
  expect(
    await kind?.plan?.({ ...input, descendants: false, replace: false } as never, { by: 'ann' }),
  ).toEqual(
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
  const call = { signal: AbortSignal.timeout(60_000), epoch: 0 };
  expect(await planCopies({ ...product.deps, call }, 'production', next)).toEqual([
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
