// Retention: what keeps a version, what may go, and what a prune does when something became used meanwhile.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Store } from '../../src/database/open-database.ts';
import type { Policy } from '../../src/domain/policy/policy.ts';
import type { RetentionEntry, RetentionPolicy } from '../../src/domain/retention/retention.ts';
import { databaseText } from '../support/database-text.ts';
import { type Seeded, seed } from '../support/lineage-seed.ts';
import { createProduct } from '../support/product.ts';
import { simulateVersions, succeed } from '../support/simulated-versions.ts';
import { type StoreBench, startStoreBench } from '../support/store.ts';

let bench: StoreBench;

beforeAll(async () => {
  bench = await startStoreBench();
});

afterAll(() => bench.stop());

interface World extends Seeded {
  readonly store: Store;
  /** What keeps each version, as `kind name`. */
  kept(policy?: RetentionPolicy): Promise<Record<string, string[]>>;
}

async function world(now?: () => number): Promise<World> {
  const store = await bench.freshStore(now === undefined ? {} : { now });
  return {
    ...(await seed(store)),
    store,
    async kept(policy = {}) {
      const plan = await readPlan(store, 'node', policy);
      return Object.fromEntries(
        plan.map(({ version, keepers }) => [
          version,
          keepers.map(({ kind, name }) => `${kind} ${name}`).sort(),
        ]),
      );
    },
  };
}

async function readPlan(
  { lifecycle }: Store,
  image?: string,
  policy: RetentionPolicy = {},
): Promise<readonly RetentionEntry[]> {
  const entries: RetentionEntry[] = [];
  for await (const part of lifecycle.retention.plan(image, policy)) entries.push(...part);
  return entries;
}

describe('rule 7: nothing that is needed goes', () => {
  test('by default the current and the one before stay, for each channel and pool', async () => {
    const { version, move, pool, kept, store } = await world();
    for (const number of ['1.0.0', '1.0.1', '1.0.2', '1.0.3', '1.0.4']) await version(number);
    for (const number of ['1.0.0', '1.0.1', '1.0.2']) await move('production', number);
    await pool('web', 'node:1.0.0', 0);
    const { digest } = await store.catalogue.resolve('node:1.0.3');
    await store.fleet.setPoolModel('web', {
      reference: 'node:1.0.3',
      image: 'node',
      version: '1.0.3',
      digest,
    });
    expect(await kept()).toEqual({
      '1.0.0': ['pool-rollback web'],
      '1.0.1': ['channel-rollback production'],
      '1.0.2': ['channel production'],
      '1.0.3': ['pool web'],
      '1.0.4': ['channel latest', 'newest node'],
    });
  });

  test('the rollback target is the nearest that is still good, not one that is withdrawn', async () => {
    const { version, move, kept, store } = await world();
    for (const number of ['1.0.0', '1.0.1', '1.0.2']) {
      await version(number);
      await move('production', number);
    }
    const { withdrawals } = store.lifecycle;
    const author = { by: 'ann', reason: 'broken', withDescendants: false, operation: 'op' };
    await withdrawals.withdraw({ image: 'node', version: '1.0.1', ...author });
    expect(await kept()).toMatchObject({ '1.0.0': ['channel-rollback production'], '1.0.1': [] });
  });

  test('a node, a descendant, a hold and a live operation keep it', async () => {
    const { version, pool, reimage, kept, store } = await world();
    const numbers = ['1.0.0', '1.0.1', '1.0.2', '1.0.3', '1.0.4', '1.0.5'];
    for (const number of numbers) await version(number);
    await pool('web', 'node:1.0.5', 2);
    await reimage('web', '1.0.0');
    await version('2.0.0', { image: 'gpu', parent: 'node:1.0.1' });
    await store.lifecycle.retention.hold({ image: 'node', version: '1.0.2' }, 'court case', 'ann');
    await store.journal.create(
      { ...{ id: 'live', kind: 'test', subject: 'image/node', by: 'ann', input: {} }, steps: ['resolve'] },
      Date.now(),
    );
    await store.journal.update('live', {
      steps: { resolve: { result: { image: 'node', version: '1.0.3' } } },
    });
    expect(await kept()).toMatchObject({
      '1.0.0': ['node web-0'],
      '1.0.1': ['descendant gpu:2.0.0'],
      '1.0.2': ['hold court case'],
      '1.0.3': ['operation live'],
      '1.0.4': [],
    });
    await store.lifecycle.retention.release({ image: 'node', version: '1.0.2' }, 'ann');
    await store.journal.update('live', { state: 'succeeded', endedAt: new Date().toISOString() });
    expect(await kept()).toMatchObject({ '1.0.2': [], '1.0.3': [] });
  });

  test('a descendant keeps its parent by whatever name it gives it, in every plan and at the deletion', async () => {
    const { version, store } = await world();
    const parents = [];
    for (const number of ['1.0.0', '1.0.1', '1.0.2', '1.0.3']) parents.push(await version(number));
    const [byName, byDigest, byBoth] = parents;
    await version('2.0.0', { image: 'gpu', parent: 'node:1.0.0' });
    await version('2.0.1', { image: 'gpu', parent: byDigest?.digest ?? '' });
    await version('2.0.2', { image: 'gpu', parent: `node@${byBoth?.digest}` });
    await version('2.0.3', { image: 'gpu', parent: `other@${byName?.digest}` });
    await version('2.0.4', { image: 'gpu', parent: 'node:1.0.1:2' });
    await version('2.0.5', { image: 'gpu', parent: 'gpu:2.0.5' });
    const expected = [1, 2, 3].map((_, index) => [{ kind: 'descendant', name: `gpu:2.0.${index}` }]);
    const first = (entries: readonly RetentionEntry[]) =>
      entries.filter(({ image }) => image === 'node').slice(0, 3);
    expect(first(await readPlan(store)).map(({ keepers }) => keepers)).toEqual(expected);
    expect(first(await readPlan(store, 'node')).map(({ keepers }) => keepers)).toEqual(expected);
    const author = { by: 'ann', operation: 'prune-1' };
    for (const [index, keepers] of expected.entries()) {
      const name = { image: 'node', version: `1.0.${index}` };
      expect(await store.lifecycle.retention.condemn(name, {}, author)).toEqual(keepers);
    }
    const own = (await readPlan(store, 'gpu')).find(({ version: number }) => number === '2.0.4');
    expect(own?.keepers).toEqual([]);
  });

  test('a pool that went to another image keeps the one it came from, and no other of it', async () => {
    const { version, pool, store } = await world();
    for (const number of ['1.0.0', '1.0.1', '1.0.2']) await version(number);
    for (const number of ['2.0.0', '2.0.1']) await version(number, { image: 'gpu' });
    await pool('web', 'node:1.0.0', 0);
    for (const reference of ['node:1.0.1', 'gpu:2.0.0']) {
      await store.fleet.setPoolModel('web', { ...(await store.catalogue.resolve(reference)), reference });
    }
    const expected = [[], [{ kind: 'pool-rollback', name: 'web' }]];
    const keepers = (entries: readonly RetentionEntry[]) => entries.map((entry) => entry.keepers).slice(0, 2);
    expect(keepers(await readPlan(store, 'node'))).toEqual(expected);
    const all = (await readPlan(store)).filter(({ image }) => image === 'node');
    expect(keepers(all)).toEqual(expected);
  });

  test('keep by count and by age', async () => {
    let now = Date.parse('2026-01-01T00:00:00Z');
    const { version, kept } = await world(() => now);
    for (const number of ['1.0.0', '1.0.1', '1.0.2', '1.0.3']) {
      await version(number);
      now += 10 * 86_400_000;
    }
    expect(await kept({ keepCount: 2 })).toMatchObject({ '1.0.1': [], '1.0.2': ['count newest 2'] });
    expect(await kept({ keepDays: 25 })).toMatchObject({
      '1.0.1': [],
      '1.0.2': ['age younger than 25 days'],
    });
  });

  test('what a pool of that name had before it was deleted and made anew keeps nothing', async () => {
    const { version, pool, kept, store } = await world();
    for (const number of ['1.0.0', '1.0.1', '1.0.2']) await version(number);
    await pool('web', 'node:1.0.0', 0);
    await store.fleet.removePool('web');
    await pool('web', 'node:1.0.1', 0);
    expect(await kept()).toMatchObject({ '1.0.0': [], '1.0.1': ['pool web'] });
  });
});

describe('deletion of one version', () => {
  const author = { by: 'ann', operation: 'prune-1' };

  test('something became used after the plan: it is kept and says by what', async () => {
    const { version, pool, store } = await world();
    for (const number of ['1.0.0', '1.0.1']) await version(number);
    const { retention } = store.lifecycle;
    expect((await readPlan(store, 'node'))[0]?.keepers).toEqual([]);
    await pool('web', 'node:1.0.0', 3);
    const name = { image: 'node', version: '1.0.0' };
    expect(await retention.condemn(name, {}, author)).toMatchObject([
      { kind: 'pool' },
      { kind: 'node', count: 3 },
    ]);
    expect(await store.catalogue.getVersion('node', '1.0.0')).toMatchObject({ state: 'available' });
  });

  test('something was quicker than the withdrawal: it is given back, and is never recorded as deleted', async () => {
    const { version, pool, store } = await world();
    for (const number of ['1.0.0', '1.0.1']) await version(number);
    const { retention } = store.lifecycle;
    const name = { image: 'node', version: '1.0.0' };
    expect(await retention.condemn(name, {}, author)).toEqual([]);
    expect(await retention.condemn(name, {}, author)).toEqual([]);
    await expect(pool('web', 'node:1.0.0', 1)).rejects.toMatchObject({ code: 'version-withdrawn' });
    await retention.hold(name, 'audit', 'ann');
    expect(await retention.usedBy(name)).toMatchObject([{ kind: 'hold' }]);
    await expect(retention.finish(name, 'ann')).rejects.toMatchObject({ code: 'version-needed' });
    await retention.reprieve(name, { ...author, why: 'it is held' });
    await retention.reprieve(name, { ...author, why: 'it is held' });
    expect(await store.catalogue.getVersion('node', '1.0.0')).toMatchObject({ state: 'available' });
  });

  test('a withdrawn version that is reprieved stays withdrawn', async () => {
    const { version, store } = await world();
    for (const number of ['1.0.0', '1.0.1']) await version(number);
    const { retention, withdrawals } = store.lifecycle;
    const name = { image: 'node', version: '1.0.0' };
    const asked = { reason: 'broken', withDescendants: false, by: 'ann', operation: 'w' };
    await withdrawals.withdraw({ ...name, ...asked });
    await retention.condemn(name, {}, author);
    await retention.reprieve(name, { ...author, why: 'stopped' });
    expect(await store.catalogue.getVersion('node', '1.0.0')).toMatchObject({ state: 'withdrawn' });
    await retention.finish(name, 'ann');
    expect(await store.catalogue.getVersion('node', '1.0.0')).toMatchObject({
      state: 'deleted',
      reason: 'broken',
    });
  });

  test('holding what is deleted, or without a reason, is refused', async () => {
    const { version, store } = await world();
    await version('1.0.0', { candidate: true });
    const { retention } = store.lifecycle;
    const name = { image: 'node', version: '1.0.0' };
    await expect(retention.hold(name, '  ', 'ann')).rejects.toMatchObject({ code: 'reason-missing' });
    await store.catalogue.setVersionState('node', '1.0.0', 'deleted', { by: 'ann' });
    await expect(retention.hold(name, 'why', 'ann')).rejects.toMatchObject({ code: 'version-state' });
  });
});

/** Three built and tested versions of the simulated cloud, of which the first is in nobody's way. */
async function simulated() {
  const product = await createProduct(await bench.freshStore());
  const { store } = product;
  const numbers = await simulateVersions(product, 3);
  const [old = '', middle = '', newest = ''] = numbers;
  for (const [name, number] of [
    ['first', old],
    ['second', middle],
  ] as const) {
    await succeed(product, {
      kind: 'pool-create',
      subject: `pool/${name}`,
      input: { name, reference: `node:${number}`, capacity: 1 },
    });
  }
  await succeed(product, { kind: 'pool-delete', subject: 'pool/first', input: { name: 'first' } });
  const copies = () => product.sim.world.view().versions.map(({ version }) => version);
  return { product, store, old, middle, newest, copies };
}

describe('the prune operation', () => {
  test('deletes what nothing needs, from every gallery, and says what it freed', async () => {
    const { product, store, old, middle, newest, copies } = await simulated();
    expect(copies()).toContain(old);
    const pruned = await product.run({ kind: 'prune', subject: 'catalogue', input: {} });
    expect(pruned).toMatchObject({
      state: 'succeeded',
      result: { deleted: [`node:${old}`], kept: [], failed: [], freedBytes: expect.any(Number) },
    });
    expect((pruned.result as { freedBytes: number }).freedBytes).toBeGreaterThan(0);
    expect(copies()).not.toContain(old);
    expect(copies()).toContain(middle);
    const states = await store.catalogue.listVersions('node', { limit: 10 });
    expect(states.items.map(({ version, state }) => [version, state])).toEqual([
      [newest, 'available'],
      [middle, 'available'],
      [old, 'deleted'],
    ]);
    const which = await store.lifecycle.lineage.which('first-000000');
    expect(which).toMatchObject({ version: old, versionState: 'deleted', goneAt: expect.any(String) });
    await product.close();
  });

  test('survives a death at every point, and deletes each version once', async () => {
    const { product, store, old } = await simulated();
    const died = new Set<string>();
    product.atPoint = (point) => {
      const where = JSON.stringify(point);
      if (died.has(where)) return undefined;
      died.add(where);
      return 'die';
    };
    const pruned = await product.run({ kind: 'prune', subject: 'catalogue', input: {} });
    expect(pruned).toMatchObject({ state: 'succeeded', result: { failed: [], kept: [] } });
    expect(died.size).toBeGreaterThan(4);
    expect(await store.catalogue.getVersion('node', old)).toMatchObject({ state: 'deleted' });
    await product.close();
  });

  test('keeps what the policy in force says, of each image as it says, unless it is asked otherwise', async () => {
    const { product, store, old } = await simulated();
    const setPolicy = (retention: RetentionPolicy, own?: RetentionPolicy) => {
      const images = own === undefined ? {} : { images: { node: { channels: {}, retention: own } } };
      const policy: Policy = { version: 1, channels: {}, retention, ...images };
      const text = JSON.stringify(policy);
      return store.promotion.setPolicy({ policy, text, digest: text, by: 'root', why: 'test' });
    };
    const prune = async (input: object = {}) =>
      (await product.run({ kind: 'prune', subject: 'catalogue', input: { ...input } })).result;
    await setPolicy({ keepCount: 10 });
    expect(await prune()).toMatchObject({ deleted: [], kept: [] });
    await setPolicy({ keepCount: 0 }, { keepCount: 10 });
    expect(await prune()).toMatchObject({ deleted: [], kept: [] });
    expect(await prune({ image: 'node' })).toMatchObject({ deleted: [] });
    await setPolicy({ keepCount: 10 }, { keepDays: 0 });
    expect(await prune()).toMatchObject({ deleted: [`node:${old}`] });
    await product.close();
  });

  test('a pool that was made between plan and deletion keeps its version', async () => {
    const { product, store, old } = await simulated();
    let done = false;
    const condemn = store.lifecycle.retention.condemn;
    Object.assign(store.lifecycle.retention, {
      async condemn(...request: Parameters<typeof condemn>) {
        if (!done) {
          done = true;
          const { digest } = await store.catalogue.resolve(`node:${old}`);
          await store.fleet.addPool({
            ...{ name: 'late', provider: 'sim', orchestration: 'uniform', size: 'small', nodeConfig: '' },
            ...{ reference: `node:${old}`, image: 'node', version: old, digest },
          });
        }
        return condemn(...request);
      },
    });
    const pruned = await product.run({ kind: 'prune', subject: 'catalogue', input: {} });
    expect(pruned.result).toMatchObject({ deleted: [], kept: [`node:${old}: pool late`] });
    expect(await store.catalogue.getVersion('node', old)).toMatchObject({ state: 'available' });
    await product.close();
  });

  test('rule 9: the plan writes nothing', async () => {
    const { version, store } = await world();
    for (const number of ['1.0.0', '1.0.1']) await version(number);
    const before = await databaseText(store.database.url);
    const [first] = await readPlan(store);
    expect(first?.keepers).toEqual([]);
    expect(await databaseText(store.database.url)).toBe(before);
  });
});
