// Rollouts that take more than one turn: through floors, and through several pools in their order.
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type CaptureBench, captureBench } from '../support/captures.ts';
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
  bench = await captureBench(product, 2);
  await bench.release('1.7.25');
});
afterEach(() => product.close());

const settings = { reference: 'node:1.0.1', bake: '0s', waves: [] };

function nodesOf(pool: string): string {
  const nodes = product.sim.world.view().nodes.filter((node) => node.pool === pool);
  return nodes.map(({ version }) => version).join(' ');
}

describe('floors', () => {
  const roll = (more: object = {}) =>
    product.run({ kind: 'rollout', subject: 'pool/web', input: { name: 'web', ...settings, ...more } });

  beforeEach(async () => {
    for (const containerd of ['1.7.26', '1.7.27']) await bench.release(containerd);
    const images = { node: { channels: {}, floors: ['1.0.2', '1.0.1'] } };
    const policy = { version: 1 as const, channels: {}, images };
    await product.store.promotion.setPolicy({
      ...{ digest: 'd', text: '', by: 'test', why: 'test', policy },
    });
  });

  test('are passed through in their order, and again after a process that died', async () => {
    let deaths = 0;
    product.atPoint = ({ name, moment }) =>
      name === 'step do:canaries' && moment === 'before-body' && deaths++ === 1 ? 'die' : undefined;
    const operation = await roll({ reference: 'node:1.0.3' });
    expect(deaths).toBeGreaterThan(1);
    expect(operation).toMatchObject({ state: 'succeeded', exceptions: [] });
    expect([nodesOf('web'), bench.model()]).toEqual(['1.0.3 1.0.3', 'node:1.0.3']);
    const made = await product.store.fleet.lastRollout('web');
    expect(made).toMatchObject({ operation: operation.id, from: { version: '1.0.2' } });
    const first = await product.deps.journal.get(`${operation.id}.through.through`);
    expect(first).toMatchObject({ state: 'succeeded', result: { version: '1.0.1', moved: 2 } });
  });

  test('are not passed through on the way back, nor by nodes that are past them', async () => {
    await roll({ reference: 'node:1.0.2' });
    const operation = await roll({ reference: 'node:1.0.3' });
    expect(operation.steps.find(({ name }) => name === 'through')?.state).toBe('skipped');
    const undone = await roll({ reference: undefined, undo: true });
    expect(undone).toMatchObject({ state: 'succeeded' });
    expect(nodesOf('web')).toBe('1.0.2 1.0.2');
  });

  test('that can no longer be used refuse the rollout before anything is touched', async () => {
    const target = { image: 'node', version: '1.0.2', reason: 'broken' };
    await bench.succeed('withdraw', 'image/node', target);
    expect(await roll({ reference: 'node:1.0.3' })).toMatchObject({
      ...{ state: 'failed', error: { code: 'version-withdrawn' } },
    });
    expect([nodesOf('web'), bench.model()]).toEqual(['1.0.0 1.0.0', 'node:1.0.0']);
  });
});

describe('several pools', () => {
  const roll = (pools: readonly string[]) =>
    product.run({ kind: 'rollout-series', subject: 'rollout/web', input: { ...settings, pools } });

  beforeEach(async () => {
    const pool = { name: 'api', reference: 'node:1.0.0', capacity: 2 };
    await bench.succeed('pool-create', 'pool/api', pool);
  });

  test('move in their order, each after the one before, across a process that died', async () => {
    let deaths = 0;
    product.atPoint = ({ run, name }) =>
      run.endsWith('.web') && name.startsWith('step do:canaries') && deaths++ === 0 ? 'die' : undefined;
    const seen: string[] = [];
    product.atDeath = async () => void seen.push(nodesOf('api'));
    expect(await roll(['api', 'web'])).toMatchObject({
      state: 'succeeded',
      result: { pools: ['api', 'web'] },
    });
    expect(seen).toEqual(['1.0.1 1.0.1']);
    expect([nodesOf('web'), nodesOf('api')]).toEqual(['1.0.1 1.0.1', '1.0.1 1.0.1']);
  });

  test('end with the first one that is rolled back', async () => {
    const fault = { call: 'pools.upgradeNode', name: 'api/*', kind: 'fails-later', count: 4 } as const;
    await product.sim.control.addFault(fault);
    const operation = await roll(['api', 'web']);
    const message = expect.stringMatching(/Pool api: Pool api returned from .* Not touched: web\./);
    expect(operation).toMatchObject({ state: 'failed', error: { message } });
    expect([nodesOf('web'), nodesOf('api')]).toEqual(['1.0.0 1.0.0', '1.0.0 1.0.0']);
  });

  test('are refused together: what a later one cannot have touches no earlier one', async () => {
    const operation = await roll(['api', 'missing']);
    expect(operation).toMatchObject({ state: 'failed', error: { code: 'pool-not-found' } });
    await expect(roll(['api', 'api'])).rejects.toThrow('names a pool twice');
    expect(nodesOf('api')).toBe('1.0.0 1.0.0');
  });

  test('stop with a cancel: new nodes of the pool that moved get what they got before', async () => {
    let deaths = 0;
    product.cancelAtDeath = true;
    product.atPoint = ({ run, name, moment }) =>
      run.endsWith('.api') && name === 'step do:canaries' && moment === 'before-body' && deaths++ === 0
        ? 'die'
        : undefined;
    expect(await roll(['api', 'web'])).toMatchObject({ state: 'cancelled', exceptions: [] });
    expect(await product.store.fleet.lastRollout('api')).toMatchObject({ state: 'cancelled' });
    expect(nodesOf('web')).toBe('1.0.0 1.0.0');
    const api = product.sim.world.view().pools.find(({ name }) => name === 'api');
    expect(api?.model.version).toBe('1.0.0');
  });
});
