// Captures on the simulated provider and its cluster: the prototype, what it overlays, and what becomes of the donor.
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { policyFile } from '../../src/domain/policy/schema.ts';
import { formatDuration } from '../../src/domain/value/duration.ts';
import { operationKinds } from '../../src/operations/kinds.ts';
import { type CaptureBench, captureBench, podsOn, workload } from '../support/captures.ts';
import { createProduct, type Product } from '../support/product.ts';
import { type StoreBench, startStoreBench } from '../support/store.ts';

let stores: StoreBench;
let product: Product;
let bench: CaptureBench;

beforeAll(async () => {
  stores = await startStoreBench();
});
afterAll(() => stores.stop());
beforeEach(async () => {
  product = await createProduct(await stores.freshStore());
  bench = await captureBench(product);
});
afterEach(() => product.close());

interface Captured {
  readonly node: string;
  readonly image: string;
  readonly version: string;
  readonly digest: string;
  readonly used: boolean;
}

async function captured(input: object = {}): Promise<Captured> {
  const operation = await bench.capture(input);
  expect(operation).toMatchObject({ state: 'succeeded', exceptions: [] });
  return operation.result as unknown as Captured;
}

describe('scenario 1: a capture', () => {
  test('makes a prototype for new nodes while its pods move, and returns its donor as it was', async () => {
    await workload(product, 12);
    const before = await bench.nodes();
    const { node, image, version, used } = await captured();
    expect(await bench.nodes()).toEqual(before);
    expect({ image, used }).toEqual({ image: 'web-prototype', used: true });
    expect(bench.model()).toBe(`web-prototype:${version}`);
    expect(await product.store.fleet.getPool('web')).toMatchObject({
      ...{ reference: 'node:production', follows: 'production' },
      base: { image: 'node', version: '1.0.0' },
    });
    expect(await product.store.catalogue.getVersion(image, version)).toMatchObject({
      state: 'available',
      origin: { kind: 'captured', node, parent: 'node:1.0.0' },
    });
    expect(product.sim.world.view()).toMatchObject({ snapshots: [], machines: [] });
    expect(await podsOn(product, node)).toEqual([]);
    await bench.succeed('pool-scale', 'pool/web', { name: 'web', capacity: 7 });
    expect(product.sim.world.view().nodes.at(-1)).toMatchObject({ image: 'web-prototype', version });
  });

  test('its line has no channels, and is excluded from the latest of the gallery', async () => {
    const { image, version } = await captured();
    expect(await product.store.catalogue.listChannels(image)).toEqual([]);
    const copies = product.sim.world.view().versions.filter((copy) => copy.image === image);
    expect(copies.map((copy) => [copy.version, copy.excludeFromLatest])).toEqual([[version, true]]);
  });

  test('the evidence has what was cleaned, and what the gates decided', async () => {
    const { digest } = await captured();
    const evidence = await product.store.catalogue.listEvidence(digest);
    expect(evidence.map(({ kind, passed }) => [kind, passed])).toEqual([
      ['capture', true],
      ['test', true],
      ['gates', true],
    ]);
  });
});

describe('a prototype', () => {
  test('ends when the channel moves on, until a node of the new version is captured', async () => {
    await captured();
    await bench.release('1.7.25');
    await bench.promote('1.0.1');
    await bench.succeed('pool-set-image', 'pool/web', { name: 'web', reference: 'node:production' });
    expect(bench.model()).toBe('node:1.0.1');
    expect(await product.store.fleet.getPool('web')).not.toHaveProperty('base');
    expect(await bench.capture()).toMatchObject({
      error: { code: 'capture-refused', message: expect.stringContaining('model: node:1.0.0') },
    });
  });

  test('a pool behind its channel is found although a prototype overlays it', async () => {
    await captured();
    expect((await product.store.fleet.listBehind({ limit: 10 })).items).toEqual([]);
    expect(await product.store.fleet.listFollowers('node', 'production')).toHaveLength(1);
    await bench.release('1.7.25');
    await bench.promote('1.0.1');
    const behind = (await product.store.fleet.listBehind({ limit: 10 })).items;
    expect(behind.map(({ name }) => name)).toEqual(['web']);
  });

  test('scenario 23: withdrawing it brings the previous one back, then the version of the channel', async () => {
    const first = await captured();
    const second = await captured();
    expect(bench.model()).toBe(`web-prototype:${second.version}`);
    const withdraw = ({ image, version }: Captured) =>
      bench.succeed('withdraw', `image/${image}`, { image, version, reason: 'bad', replace: false });
    await withdraw(second);
    expect(bench.model()).toBe(`web-prototype:${first.version}`);
    await withdraw(first);
    expect(bench.model()).toBe('node:1.0.0');
    await bench.succeed('pool-scale', 'pool/web', { name: 'web', capacity: 7 });
    expect(product.sim.world.view().nodes.at(-1)).toMatchObject({ image: 'node', version: '1.0.0' });
  });

  test('scenario 19: two captures on one day have growing numbers', async () => {
    const [first, second] = [await captured(), await captured()];
    const day = first.version.split('.').slice(0, 2).join('.');
    expect([first.version, second.version]).toEqual([`${day}.0`, `${day}.1`]);
  });

  test('scenario 21: the newest ones and the one in use are kept', async () => {
    for (let index = 0; index < 4; index += 1) await captured({ keep: 2 });
    const { items } = await product.store.catalogue.listVersions('web-prototype', { limit: 10 });
    const states = items.map(({ state }) => state).toSorted();
    expect(states).toEqual(['available', 'available', 'deleted', 'deleted']);
    expect(bench.model()).toBe(`web-prototype:${items.find(({ state }) => state === 'available')?.version}`);
  });

  test('belongs to its pool: another pool cannot use it', async () => {
    const { image, version } = await captured();
    const create = await product.run({
      kind: 'pool-create',
      subject: 'pool/api',
      input: { name: 'api', reference: `${image}:${version}`, capacity: 1 },
    });
    expect(create).toMatchObject({ state: 'failed', error: { code: 'prototype-elsewhere' } });
  });

  test('a captured node can be captured again: the chain has all ancestors', async () => {
    const first = await captured();
    await bench.succeed('pool-scale', 'pool/web', { name: 'web', capacity: 9 });
    const second = await captured({ node: product.sim.world.view().nodes.at(-1)?.name });
    expect(await product.store.catalogue.getVersion(second.image, second.version)).toMatchObject({
      origin: { kind: 'captured', parent: `web-prototype:${first.version}` },
    });
    expect(await product.store.fleet.getPool('web')).toMatchObject({
      version: second.version,
      base: { version: '1.0.0' },
    });
  });
});

describe('gates for captured versions', () => {
  const twoApprovals = { approvals: { count: 2, role: 'publisher' } } as const;

  async function policy(production: object): Promise<void> {
    const text = JSON.stringify({ version: 1, channels: { production } });
    const digest = `sha256:${'0'.repeat(64)}`;
    const parsed = policyFile.parse(JSON.parse(text));
    await product.store.promotion.setPolicy({ policy: parsed, text, digest, by: 'test', why: 'test' });
  }

  test('are those of the channel by default: a prototype that they block is not used', async () => {
    await policy(twoApprovals);
    const before = await bench.nodes();
    const operation = await bench.capture();
    expect(operation).toMatchObject({ state: 'failed', error: { code: 'gate-closed' } });
    await bench.untouched(before, operation);
  });

  test('can be others: a nightly capture does not wait for approvals', async () => {
    await policy({ ...twoApprovals, captured: {} });
    expect(await captured()).toMatchObject({ used: true });
  });
});

describe('a scheduled capture', () => {
  async function scheduled(input: object = {}) {
    const all = { name: 'web', minReady: '0s', ...input };
    return (await bench.succeed('capture-scheduled', 'pool/web', all)).result;
  }

  test('is skipped with the reason if no node has newer patches, and touches nothing', async () => {
    const before = await bench.nodes();
    expect(await scheduled()).toEqual({
      pool: 'web',
      skipped: 'no node that can be captured has newer patches',
    });
    expect(await bench.nodes()).toEqual(before);
    expect(await product.store.catalogue.getImage('web-prototype')).toBeUndefined();
  });

  test('is skipped outside of its windows, with the time at which the next one opens', async () => {
    const at = new Date(Date.now() + 12 * 3_600_000);
    const hour = (offset: number) => String((at.getUTCHours() + offset) % 24).padStart(2, '0');
    const { skipped } = (await scheduled({ unpatched: true, windows: [`${hour(0)}:00-${hour(1)}:00`] })) as {
      skipped?: string;
    };
    expect(skipped).toMatch(new RegExp(`^its window opens at .*T${hour(0)}:00:00`));
  });

  test('captures a node that was patched', async () => {
    expect(await scheduled({ unpatched: true, whenOutdated: true })).toMatchObject({
      ...{ pool: 'web', image: 'web-prototype', used: true },
    });
  });

  test('a dry run of the next capture tells how long the node will be away', async () => {
    const { awayMs } = (await scheduled({ unpatched: true })) as unknown as { awayMs: number };
    const kind = operationKinds(product.deps).get('capture');
    const input = kind?.parse({ name: 'web', unpatched: true, minReady: '0s' }) as never;
    const plan = (await kind?.plan(input, { by: 'local' })) ?? [];
    expect(plan.join('\n')).toContain(`expected to be away for ${formatDuration(awayMs)}`);
  });
});
