// A withdrawal followed to zero: new nodes stop using it at once, running ones are replaced one at a time, galleries
// are told, through crashes and lies.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Store } from '../../src/database/open-database.ts';
import { operationKinds } from '../../src/operations/kinds.ts';
import { poolScale } from '../../src/operations/pool/operations.ts';
import { lifecycleRound } from '../../src/operations/reconcile/lifecycle.ts';
import type { OperationRecord } from '../../src/ports/workflow/operation.ts';
import { createProduct, type Product } from '../support/product.ts';
import { simulateVersions, succeed } from '../support/simulated-versions.ts';
import { patience } from '../support/speed.ts';
import { type StoreBench, startStoreBench } from '../support/store.ts';
import { until } from '../support/until.ts';

let bench: StoreBench;

beforeAll(async () => {
  bench = await startStoreBench();
});

afterAll(() => bench.stop());

interface Fleet {
  readonly product: Product;
  readonly good: string;
  readonly bad: string;
  withdraw(input?: object, id?: string): Promise<OperationRecord>;
  versions(): string[];
  close(): Promise<void>;
}

/** A pool that follows production, which points at a version that turns out to be bad. */
async function fleet(orchestration: 'uniform' | 'flexible', nodes: number, store?: Store): Promise<Fleet> {
  // Time that runs slower, where steps are held up and must not reach their deadlines.
  const slower = store === undefined ? {} : { timeScale: 2000 };
  const product = await createProduct(store ?? (await bench.freshStore()), slower);
  const [good = '', bad = ''] = await simulateVersions(product, 2);
  for (const version of [good, bad]) {
    await product.store.catalogue.moveChannel({
      ...{ image: 'node', channel: 'production', to: version, by: 'test', why: 'test' },
    });
  }
  await succeed(product, {
    kind: 'pool-create',
    subject: 'pool/web',
    input: { name: 'web', reference: 'node:production', capacity: nodes, orchestration },
  });
  return {
    product,
    good,
    bad,
    withdraw: (input = {}, id) =>
      product.run({
        ...(id === undefined ? {} : { id }),
        kind: 'withdraw',
        subject: 'image/node',
        input: { image: 'node', version: bad, reason: 'kubelet crashes', replace: true, ...input },
      }),
    versions: () => product.sim.world.view().nodes.map(({ version }) => version),
    close: () => product.close(),
  };
}

describe('story 4: a published version is broken', () => {
  test.each(['uniform', 'flexible'] as const)(
    'of a %s pool every node is replaced, never fewer are there than asked for, and the model moves on',
    async (orchestration) => {
      const { product, good, bad, withdraw, versions, close } = await fleet(orchestration, 3);
      let fewest = 3;
      const watch = setInterval(() => {
        const there = product.sim.world.view().nodes.filter(({ state }) => state !== 'deleting').length;
        fewest = Math.min(fewest, there);
      }, 1);
      const ended = await withdraw();
      clearInterval(watch);
      expect(ended).toMatchObject({ state: 'succeeded', result: { nodes: 0, versions: [`node:${bad}`] } });
      expect(versions()).toEqual([good, good, good]);
      expect(fewest).toBe(3);
      expect(await product.store.fleet.getPool('web')).toMatchObject({
        version: good,
        follows: 'production',
      });
      const records = await product.store.fleet.listNodes('web', { limit: 10 });
      expect(records.items.map(({ version, channel }) => [version, channel])).toEqual(
        Array(3).fill([good, 'production']),
      );
      expect(product.sim.world.view().pools[0]).toMatchObject({ capacity: 3 });
      await close();
    },
  );

  test('without --replace the model moves at once, and the nodes are listed and stay', async () => {
    const { product, good, bad, withdraw, versions, close } = await fleet('uniform', 2);
    const ended = await withdraw({ replace: false });
    const names = product.sim.world.view().nodes.map(({ name }) => name);
    expect(ended.result).toMatchObject({
      ...{ nodes: 2, pools: [{ pool: 'web', nodes: 2, model: false, names: names.toSorted() }] },
    });
    expect(versions()).toEqual([bad, bad]);
    expect(await product.store.fleet.getPool('web')).toMatchObject({ version: good });
    await close();
  });

  test('a node that was stopped is stopped afterwards (rule 1)', async () => {
    const { product, good, withdraw, close } = await fleet('uniform', 2);
    const options = { signal: AbortSignal.timeout(patience(60_000)), epoch: 0 };
    const [first] = product.sim.world.view().nodes;
    await product.sim.pools?.stopNode('web', first?.name ?? '', options);
    while (product.sim.world.view().nodes[0]?.power !== 'stopped') await product.sim.clock.sleep(1000);
    await withdraw();
    expect(product.sim.world.view().nodes.map(({ power, version }) => [power, version])).toEqual([
      ['stopped', good],
      ['running', good],
    ]);
    await close();
  });

  test('a pool that is pinned to it is named, the others are replaced; a retry finishes the rest', async () => {
    const { product, good, bad, withdraw, versions, close } = await fleet('uniform', 1);
    await succeed(product, {
      kind: 'pool-create',
      subject: 'pool/fixed',
      input: { name: 'fixed', reference: `node:${bad}`, capacity: 1 },
    });
    const ended = await withdraw();
    expect(ended).toMatchObject({ state: 'failed', error: { code: 'nodes-left' } });
    expect(ended.error?.message).toContain(
      `Pool fixed still starts nodes from a withdrawn version. Change it with \`imago pool set-image fixed --image node:${good}\``,
    );
    expect(versions().toSorted()).toEqual([good, bad].toSorted());
    const states = new Map(ended.steps.map(({ name, state }) => [name, state]));
    expect([states.get('withdraw'), states.get('pools'), states.get('replace')]).toEqual([
      'done',
      'done',
      'done',
    ]);
    await succeed(product, {
      kind: 'pool-set-image',
      subject: 'pool/fixed',
      input: { name: 'fixed', reference: `node:${good}`, pin: false },
    });
    expect(await withdraw()).toMatchObject({ state: 'succeeded', result: { nodes: 0 } });
    await close();
  });

  test('an automatically created channel becomes empty, and its pools keep their model and are listed first', async () => {
    const { product, good, bad, withdraw, close } = await fleet('uniform', 1);
    const { catalogue, fleet: pools } = product.store;
    await catalogue.createChannel({
      image: 'node',
      name: 'production-1-34',
      forTesting: false,
      public: false,
    });
    await catalogue.moveChannel({
      ...{ image: 'node', channel: 'production-1-34', to: bad, by: 'test', why: 'release' },
    });
    await succeed(product, {
      kind: 'pool-create',
      subject: 'pool/zoo',
      input: { name: 'zoo', reference: 'node:production-1-34', capacity: 1 },
    });
    const change = `imago pool set-image zoo --image node:${good}`;
    const kind = operationKinds(product.deps).get('withdraw');
    const input = { image: 'node', version: bad, reason: 'kubelet crashes' };
    const plan = await kind?.plan(kind.parse(input) as never, { by: 'test' });
    expect(plan?.slice(1, 3)).toEqual([
      `Pool zoo still starts nodes from a withdrawn version. Change it with \`${change}\`.`,
      `Move node:production from ${bad} back to ${good}.`,
    ]);
    expect(plan).toContain(
      `Leave node:production-1-34 empty: it points at ${bad} and has no earlier good version.`,
    );
    const ended = await withdraw({ replace: false });
    expect(ended).toMatchObject({
      state: 'succeeded',
      result: {
        channels: expect.arrayContaining([
          `node:production-1-34 is empty: it left ${bad} and has no earlier good version`,
        ]),
        pools: [
          { pool: 'zoo', model: true, change },
          { pool: 'web', model: false },
        ],
      },
    });
    expect((await catalogue.getChannel('node', 'production-1-34'))?.version).toBeUndefined();
    expect(await pools.getPool('zoo')).toMatchObject({ version: bad, follows: 'production-1-34' });
    await succeed(product, {
      kind: 'pool-set-image',
      subject: 'pool/zoo',
      input: { name: 'zoo', reference: `node:${good}`, pin: false },
    });
    expect(await withdraw()).toMatchObject({ state: 'succeeded', result: { nodes: 0 } });
    await close();
  });

  test('the first node that cannot be made anew stops the replacement, and the operation says which', async () => {
    const { product, bad, withdraw, versions, close } = await fleet('uniform', 3);
    await product.sim.control.addFault({
      kind: 'fails-later',
      call: 'pools.upgradeNode',
      message: 'no disk',
    });
    const ended = await withdraw();
    expect(ended.state).toBe('failed');
    expect(ended.error?.message).toContain('could not be replaced');
    expect(versions().filter((version) => version === bad).length).toBeGreaterThanOrEqual(2);
    await close();
  });
});

describe('at once, whatever else runs on the image', () => {
  /** A fleet whose withdrawals, and with `copies` promotions, get no further than their long steps until `open` is called. */
  async function heldUp({ copies }: { readonly copies: boolean }) {
    const store = await bench.freshStore();
    const { promise: gate, resolve: open } = Promise.withResolvers<void>();
    const { lineage } = store.lifecycle;
    const held: Store = {
      ...store,
      lifecycle: {
        ...store.lifecycle,
        lineage: { ...lineage, poolsOf: (versions) => gate.then(() => lineage.poolsOf(versions)) },
      },
      ...(copies && {
        galleryBook: { ...store.galleryBook, list: () => gate.then(() => store.galleryBook.list()) },
      }),
    };
    return { ...(await fleet('uniform', 0, held)), open };
  }

  function untilStep(product: Product, id: string, step: string): Promise<boolean> {
    return until(
      `${id} is at ${step}`,
      async () => (await product.deps.journal.get(id))?.currentStep === step,
    );
  }

  test('a withdrawal does not wait for a promotion that copies, which is refused when it comes to move', async () => {
    const { product, good, bad, withdraw, open, close } = await heldUp({ copies: true });
    const [next = ''] = await simulateVersions(product, 1, 7);
    const input = { reference: `node:${next}`, channel: 'production', why: 'newer' };
    const promotion = product.run({ id: 'promotion', kind: 'promote', subject: 'image/node', input });
    await untilStep(product, 'promotion', 'copies');
    const ends = [withdraw({}, 'one'), withdraw({ version: next }, 'two')];
    for (const id of ['one', 'two']) await untilStep(product, id, 'pools');
    const { catalogue } = product.store;
    expect(await catalogue.getVersion('node', bad)).toMatchObject({ state: 'withdrawn' });
    expect(await catalogue.getChannel('node', 'production')).toMatchObject({ version: good });
    open();
    expect((await Promise.all(ends)).map(({ state }) => state)).toEqual(['succeeded', 'succeeded']);
    expect(await promotion).toMatchObject({ state: 'failed', error: { code: 'gate-closed' } });
    expect(await catalogue.getChannel('node', 'production')).toMatchObject({ version: good });
    await close();
  });

  test('while nodes are replaced, a fix is built, it is restored, withdrawn again, and a channel goes back', async () => {
    const { product, good, bad, withdraw, open, close } = await heldUp({ copies: false });
    const first = withdraw({}, 'first');
    await untilStep(product, 'first', 'pools');
    const [fixed = ''] = await simulateVersions(product, 1, 7);
    const { catalogue } = product.store;
    const where = { image: 'node', channel: 'production' };
    await catalogue.moveChannel({ ...where, to: fixed, by: 'test', why: 'fixed' });
    const on = { subject: 'image/node' };
    await succeed(product, { ...on, kind: 'rollback-channel', input: { ...where, why: 'not fixed' } });
    expect(await catalogue.getChannel('node', 'production')).toMatchObject({ version: good });
    const restore = { image: 'node', version: bad, why: 'it was the network' };
    await succeed(product, { ...on, kind: 'restore-version', input: restore });
    const again = withdraw({ reason: 'it was not' }, 'again');
    await untilStep(product, 'again', 'pools');
    expect(await catalogue.getVersion('node', bad)).toMatchObject({ reason: 'it was not' });
    expect(await product.deps.journal.get('first')).toMatchObject({ state: 'running' });
    open();
    expect([(await first).state, (await again).state]).toEqual(['succeeded', 'succeeded']);
    await close();
  });
});

describe('no node is made of it any more', () => {
  test('a pool that is pinned to it may shrink and not grow, and is told why', async () => {
    const { product, bad, withdraw, versions, close } = await fleet('uniform', 0);
    const pinned = { name: 'calm', reference: `node:${bad}`, capacity: 1 };
    await succeed(product, { kind: 'pool-create', subject: 'pool/calm', input: pinned });
    await withdraw({ replace: false });
    const scale = (capacity: number) =>
      product.run({ kind: 'pool-scale', subject: 'pool/calm', input: { name: 'calm', capacity } });
    const plan = () =>
      poolScale
        .open(product.deps)
        .plan(poolScale.declaration.input.parse({ name: 'calm', capacity: 2 }), { by: 'ann' });
    // Each begins when it is awaited: a promise that rejects before that counts as unhandled.
    for (const refused of [plan, () => scale(2).then(({ error }) => Promise.reject(error))]) {
      await expect(refused()).rejects.toMatchObject({
        code: 'version-withdrawn',
        hint: expect.stringContaining('imago pool set-image calm'),
      });
    }
    expect(versions()).toEqual([bad]);
    expect(await scale(0)).toMatchObject({ state: 'succeeded' });
    await close();
  });

  test.each([
    ['createPool', 'pool-create', { name: 'late', capacity: 1 }],
    ['setModel', 'pool-set-image', { name: 'calm' }],
    ['setCapacity', 'pool-scale', { name: 'web', capacity: 2 }],
  ] as const)('withdrawn in the moment of %s: %s fails and leaves nothing', async (call, kind, input) => {
    const { product, good, bad, close } = await fleet('uniform', 1);
    const calm = { name: 'calm', reference: `node:${good}`, capacity: 0 };
    await succeed(product, { kind: 'pool-create', subject: 'pool/calm', input: calm });
    const before = await product.look();
    const { pools } = product.sim;
    const original: (...args: never[]) => Promise<unknown> = pools[call].bind(pools);
    let calls = 0;
    Object.assign(pools, {
      async [call](...args: never[]) {
        calls += 1;
        if (calls === 1) {
          await product.store.lifecycle.withdrawals.withdraw({
            ...{ image: 'node', version: bad, reason: 'broken', withDescendants: false },
            ...{ by: 'ann', operation: 'meanwhile' },
          });
        }
        return original(...args);
      },
    });
    const ended = await product.run({
      ...{ kind, subject: `pool/${input.name}`, input: { reference: `node:${bad}`, ...input } },
    });
    expect(ended).toMatchObject({ state: 'failed', error: { code: 'version-withdrawn' }, exceptions: [] });
    expect(await product.look()).toEqual(before);
    await close();
  });
});

describe('through crashes', () => {
  test.each(['uniform', 'flexible'] as const)(
    'a death at every point of the operations: a %s pool ends with all nodes good and its own capacity',
    async (orchestration) => {
      const { product, good, withdraw, versions, close } = await fleet(orchestration, 2);
      const died = new Set<string>();
      product.atPoint = ({ run, name, moment }) => {
        const where = `${run} ${name} ${moment}`;
        if (died.has(where)) return undefined;
        died.add(where);
        return 'die';
      };
      const ended = await withdraw();
      product.atPoint = () => undefined;
      expect([ended.error?.message, ended.state, ended.result]).toMatchObject([
        undefined,
        'succeeded',
        { nodes: 0 },
      ]);
      expect(died.size).toBeGreaterThan(20);
      expect(versions()).toEqual([good, good]);
      expect(product.sim.world.view().pools[0]).toMatchObject({ capacity: 2 });
      await close();
    },
  );
});

describe('galleries', () => {
  test('are told, in every region; one that says yes and does nothing is named, and the withdrawal stands', async () => {
    const { product, bad, withdraw, close } = await fleet('uniform', 0);
    const { gallery } = product.sim;
    const options = { signal: AbortSignal.timeout(patience(60_000)), epoch: 0 };
    await gallery?.updateVersion('node', bad, { excludeFromLatest: false }, options);
    const excluded = async () => (await gallery?.getVersion('node', bad, options))?.excludeFromLatest;
    while ((await excluded()) !== false) await product.sim.clock.sleep(1000);
    const fault = await product.sim.control.addFault({
      ...{ kind: 'succeeds-but-did-nothing', call: 'gallery.updateVersion', count: 'always' },
    });
    const lied = await withdraw();
    expect(lied).toMatchObject({ state: 'failed', error: { code: 'nodes-left' } });
    expect(await product.store.catalogue.getVersion('node', bad)).toMatchObject({ state: 'withdrawn' });
    await product.sim.control.removeFault(fault.id);
    expect(await withdraw()).toMatchObject({ state: 'succeeded' });
    expect(await excluded()).toBe(true);
    await close();
  });
});

test('a planned withdrawal is carried out by the round when it is due, with its replacement', async () => {
  const { product, good, bad, withdraw, versions, close } = await fleet('uniform', 1);
  const planned = await withdraw({ at: '2027-01-01' });
  expect(planned.result).toMatchObject({ planned: true });
  expect(versions()).toEqual([bad]);
  const later = { ...product.deps, clock: { now: () => Date.parse('2027-01-02') } };
  const store = await bench.freshStore({
    url: product.store.database.url,
    now: () => Date.parse('2027-01-02'),
  });
  const report = await lifecycleRound(
    { ...later, lifecycle: store.lifecycle },
    AbortSignal.timeout(patience(60_000)),
  );
  expect(report.problems).toEqual([]);
  const due = report.started.find((id) => id.startsWith('withdraw-'));
  expect(await product.deps.desk().ended(due ?? '', AbortSignal.timeout(patience(60_000)))).toMatchObject({
    state: 'succeeded',
  });
  expect(versions()).toEqual([good]);
  await close();
});
