// Limits and dates: told ahead of time, once, and refused before anything is copied.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { readLimits } from '../../src/operations/gallery/limits.ts';
import { lifecycleRound } from '../../src/operations/reconcile/lifecycle.ts';
import type { Gallery } from '../../src/ports/provider/gallery.ts';
import { seed } from '../support/lineage-seed.ts';
import { createProduct, type Product } from '../support/product.ts';
import { simulateVersions, succeed } from '../support/simulated-versions.ts';
import { patience } from '../support/speed.ts';
import { type StoreBench, startStoreBench } from '../support/store.ts';

let bench: StoreBench;

beforeAll(async () => {
  bench = await startStoreBench();
});

afterAll(() => bench.stop());

function createPool(product: Product, name: string, version: string) {
  return product.run({
    kind: 'pool-create',
    subject: `pool/${name}`,
    input: { name, reference: `node:${version}`, capacity: 0 },
  });
}

async function eventsOf(product: Product, type: string): Promise<unknown[]> {
  const events = await product.store.events.list({ after: 0, limit: 1000 });
  return events.filter((event) => event.type === type).map(({ data }) => data);
}

describe('story 8: the cap on versions is near', () => {
  test('it is shown with the day and what to do, told once, and a publication beyond it is refused early', async () => {
    const product = await createProduct(await bench.freshStore(), { limits: { versions: 2 } });
    const [first = '', second = '', third = ''] = await simulateVersions(product, 3);
    await createPool(product, 'one', first);
    const limits = await readLimits(product.deps, AbortSignal.timeout(patience(60_000)));
    expect(limits.find(({ name }) => name === 'versions')).toMatchObject({
      ...{ place: 'sim', used: 1, limit: 2, percent: 50, advice: expect.stringContaining('imago prune') },
    });
    for (let round = 0; round < 2; round += 1) {
      expect(await lifecycleRound(product.deps, AbortSignal.timeout(patience(60_000)))).toMatchObject({
        problems: [],
      });
    }
    expect(await eventsOf(product, 'limit.near')).toMatchObject([{ place: 'sim', used: 1, limit: 2 }]);
    await createPool(product, 'two', second);
    const refused = await createPool(product, 'three', third);
    expect(refused).toMatchObject({ state: 'failed', error: { code: 'limit-reached' } });
    expect(refused.error?.hint).toContain('imago prune');
    expect(product.sim.world.view().versions.map(({ version }) => version)).toEqual([first, second]);
    const publish = { kind: 'image-publish', subject: 'image/node', input: { reference: `node:${third}` } };
    expect(await product.run(publish)).toMatchObject({ state: 'failed', error: { code: 'limit-reached' } });
    expect(product.sim.world.view().versions.map(({ version }) => version)).toEqual([first, second]);
    expect(await createPool(product, 'again', first)).toMatchObject({ state: 'succeeded' });
    await product.close();
  });

  test('the versions of one image are full: its next one is refused before it is copied, another image is not', async () => {
    const product = await createProduct(await bench.freshStore(), { limits: { versionsPerImage: 1 } });
    const [first = '', second = ''] = await simulateVersions(product, 2);
    await createPool(product, 'one', first);
    const publish = { kind: 'image-publish', subject: 'image/node', input: { reference: `node:${second}` } };
    const refused = await product.run(publish);
    expect(refused).toMatchObject({ state: 'failed', error: { code: 'limit-reached' } });
    expect(refused.error?.message).toContain('1 of 1 versions per image');
    expect(product.sim.world.view().versions.map(({ version }) => version)).toEqual([first]);
    const recipe = { name: 'other', numbering: 'semver', components: [] };
    const built = await product.run({ kind: 'build', subject: 'image/other', input: { recipe } });
    expect(built).toMatchObject({ state: 'succeeded' });
    const { version } = built.result as { version: string };
    const input = { reference: `other:${version}` };
    expect(await product.run({ kind: 'image-publish', subject: 'image/other', input })).toMatchObject({
      state: 'succeeded',
    });
    await product.close();
  });

  test('a limit that is near again, after there was room, is told again; while it stays near it is not', async () => {
    const product = await createProduct(await bench.freshStore());
    const { sim } = product;
    let used = 95;
    const gallery = {
      ...(sim.gallery ?? {}),
      limits: async () => [{ name: 'versions' as const, used, limit: 100 }],
    } as Gallery;
    const deps = { ...product.deps, providers: () => [{ ...sim, gallery }] };
    for (const now of [95, 95, 89, 89, 95, 96, 95]) {
      used = now;
      expect(await lifecycleRound(deps, AbortSignal.timeout(patience(60_000)))).toMatchObject({
        problems: [],
      });
    }
    expect(await eventsOf(product, 'limit.near')).toMatchObject([95, 95, 96].map((then) => ({ used: then })));
    await product.close();
  });

  test('growth comes from the days before: the day on which it is full', async () => {
    const product = await createProduct(await bench.freshStore(), { limits: { versions: 100 } });
    const { samples } = product.store.lifecycle;
    const now = Date.parse('2026-03-21T12:00:00Z');
    await samples.record('sim', 'versions', '2026-03-01', 99, 100);
    await samples.record('sim', 'versions', '2026-03-01', 0, 100);
    await samples.record('sim', 'versions', '2026-03-20', 1, 100);
    const [only = ''] = await simulateVersions(product, 1);
    await createPool(product, 'one', only);
    const limits = await readLimits(
      { ...product.deps, clock: { now: () => now } },
      AbortSignal.timeout(patience(60_000)),
    );
    expect(limits.find(({ name }) => name === 'versions')).toMatchObject({
      ...{ used: 1, growthPerDay: 0.05, reachedOn: '2031-07-04' },
    });
    await product.close();
  });
});

describe('story 5: a version goes out of support', () => {
  async function world(now: { at: number }) {
    const product = await createProduct(await bench.freshStore({ now: () => now.at }));
    const deps = { ...product.deps, clock: { now: () => now.at } };
    // The desk lives once something was submitted.
    await simulateVersions(product, 1);
    const round = async (day: string) => {
      now.at = Date.parse(day);
      const report = await lifecycleRound(deps, AbortSignal.timeout(patience(60_000)));
      expect(report.problems).toEqual([]);
      for (const id of report.started)
        await product.deps.desk().ended(id, AbortSignal.timeout(patience(60_000)));
    };
    const state = async (version: string) =>
      (await product.store.catalogue.getVersion('k8s', version))?.state;
    return { product, round, state, ...(await seed(product.store)) };
  }

  test('warned 90, 30 and 7 days ahead, each once; deprecated at the end; never deleted while it is used', async () => {
    const { product, version, move, round, state } = await world({ at: Date.parse('2026-01-05') });
    await version('1.0.0', { image: 'k8s', kubernetes: '1.35.2' });
    await move('production', '1.0.0', 'k8s');
    const told = async () => (await eventsOf(product, 'support.ending')).length;
    await round('2026-11-01');
    expect(await told()).toBe(0);
    for (const day of ['2026-12-05', '2026-12-06', '2027-02-01', '2027-02-25', '2027-02-28'])
      await round(day);
    expect(await told()).toBe(3);
    expect(await state('1.0.0')).toBe('available');
    await round('2027-03-01');
    await round('2027-03-02');
    expect(await eventsOf(product, 'support.ended')).toMatchObject([
      { version: '1.0.0', endsOn: '2027-02-28', by: 'kubernetes 1.35' },
    ]);
    expect(await product.store.catalogue.getVersion('k8s', '1.0.0')).toMatchObject({
      ...{ state: 'deprecated', reason: 'Out of support since 2027-02-28 (kubernetes 1.35).' },
    });
    for (const day of ['2028-01-01', '2029-01-01']) await round(day);
    expect(await state('1.0.0')).toBe('deprecated');
    await product.close();
  });

  test('one that nothing uses is withdrawn after it was deprecated, and can be pruned like any other', async () => {
    const { product, version, round, state } = await world({ at: Date.parse('2026-01-05') });
    await version('1.0.0', { image: 'k8s', kubernetes: '1.35.2' });
    await version('1.0.1', { image: 'k8s', kubernetes: '1.36.1' });
    await round('2027-03-01');
    expect(await state('1.0.0')).toBe('deprecated');
    await round('2027-03-02');
    expect([await state('1.0.0'), await state('1.0.1')]).toEqual(['withdrawn', 'available']);
    await product.close();
  });

  test('no date takes what a channel can go back to, or what is held: it stays deprecated, and is gone back to', async () => {
    const { product, version, move, round, state } = await world({ at: Date.parse('2026-01-05') });
    for (const number of ['1.0.0', '1.0.1', '1.0.2']) await version(number, { image: 'k8s' });
    for (const number of ['1.0.1', '1.0.2']) await move('production', number, 'k8s');
    const { support, retention } = product.store.lifecycle;
    const held = { image: 'k8s', version: '1.0.0' };
    await retention.hold(held, 'audit', 'ann');
    for (const line of ['k8s:1.0.0', 'k8s:1.0.1']) {
      await support.set({ product: 'image', line, endsOn: '2026-02-01', note: '', by: 'ann' });
    }
    for (const day of ['2026-03-01', '2026-03-02', '2026-03-03']) await round(day);
    expect([await state('1.0.0'), await state('1.0.1')]).toEqual(['deprecated', 'deprecated']);
    expect(await retention.usedBy({ image: 'k8s', version: '1.0.1' })).toMatchObject([
      { kind: 'channel-rollback', name: 'production' },
    ]);
    const channel = { image: 'k8s', channel: 'production' };
    await succeed(product, {
      ...{ kind: 'rollback-channel', subject: 'image/k8s', input: { ...channel, why: 'it is slow' } },
    });
    expect(await product.store.catalogue.getChannel('k8s', 'production')).toMatchObject({ version: '1.0.1' });
    await move('production', '1.0.2', 'k8s');
    await product.store.lifecycle.withdrawals.withdraw({
      ...{ image: 'k8s', version: '1.0.2', reason: 'broken', withDescendants: false },
      ...{ by: 'ann', operation: 'w' },
    });
    expect(await product.store.catalogue.getChannel('k8s', 'production')).toMatchObject({ version: '1.0.1' });
    await retention.release(held, 'ann');
    await round('2026-03-04');
    expect([await state('1.0.0'), await state('1.0.1')]).toEqual(['withdrawn', 'deprecated']);
    await product.close();
  });

  test('a version that was made after the calendar’s day is only told; a date that was set always counts', async () => {
    const { product, version, round, state } = await world({ at: Date.parse('2027-05-01') });
    await version('1.0.0', { image: 'k8s', kubernetes: '1.35.2' });
    await round('2027-05-02');
    expect(await state('1.0.0')).toBe('available');
    const date = { product: 'image', line: 'k8s', endsOn: '2027-05-01', note: '', by: 'ann' };
    await product.store.lifecycle.support.set(date);
    await round('2027-05-03');
    expect(await state('1.0.0')).toBe('deprecated');
    expect(await product.store.lifecycle.support.list()).toMatchObject([date]);
    expect(await product.store.lifecycle.support.unset('image', 'k8s', 'ann')).toBe(true);
    expect(await product.store.lifecycle.support.unset('image', 'k8s', 'ann')).toBe(false);
    await round('2027-05-04');
    expect(await state('1.0.0')).toBe('available');
    expect(await product.store.catalogue.getChannel('k8s', 'latest')).toMatchObject({ version: '1.0.0' });
    await product.close();
  });
});

test('the day that the recipe promises is the version’s, until someone sets another; a cancelled build leaves none', async () => {
  const store = await bench.freshStore();
  const product = await createProduct(store);
  const recipe = { name: 'node', numbering: 'semver', components: [], support: { until: '2027-02-28' } };
  const build = () => product.run({ kind: 'build', subject: 'image/node', input: { recipe } });
  const deaths = new Set(['before-body', 'after-body']);
  product.atPoint = ({ name, moment }) =>
    name === 'step do:support' && deaths.delete(moment) ? 'die' : undefined;
  expect(await build()).toMatchObject({ state: 'succeeded', result: { version: '1.0.0' } });
  expect(deaths.size).toBe(0);
  const dates = async () =>
    (await store.lifecycle.support.list()).map(({ line, endsOn, note }) => [line, endsOn, note]);
  expect(await dates()).toEqual([['node:1.0.0', '2027-02-28', 'from the recipe']]);
  const other = { product: 'image', line: 'node:1.0.0', endsOn: '2027-06-30', note: 'longer', by: 'ann' };
  await store.lifecycle.support.set(other);
  expect(await build()).toMatchObject({ state: 'succeeded', result: { reused: true } });
  expect(await dates()).toEqual([['node:1.0.0', '2027-06-30', 'longer']]);
  Object.assign(recipe, { support: { until: '2028-01-31' } });
  product.atPoint = ({ name, moment }) =>
    name === 'step do:support' && moment === 'after-body' ? 'die' : undefined;
  product.atDeath = async () => {
    product.atPoint = () => undefined;
  };
  product.cancelAtDeath = true;
  expect(await build()).toMatchObject({ state: 'cancelled', exceptions: [] });
  expect(await dates()).toEqual([['node:1.0.0', '2027-06-30', 'longer']]);
  await product.close();
});

test('a provider whose gallery does not answer is named by the round, and the rest is done', async () => {
  const product = await createProduct(await bench.freshStore());
  await simulateVersions(product, 1);
  await succeed(product, {
    kind: 'pool-create',
    subject: 'pool/one',
    input: { name: 'one', reference: 'node:latest', capacity: 0 },
  });
  await product.sim.control.addFault({ kind: 'fails', call: 'gallery.limits', count: 'always' });
  const report = await lifecycleRound(product.deps, AbortSignal.timeout(patience(60_000)));
  expect(report.problems).toHaveLength(1);
  expect(report.problems[0]?.message).toContain('limits of galleries');
  await product.close();
});
