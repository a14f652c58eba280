// Rollouts on the simulated provider: the end state, the way back from a faulty version, and processes that die.
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { OperationRecord, OperationRequest } from '../../src/ports/workflow/operation.ts';
import { createProduct, type Product } from '../support/product.ts';
import { type StoreBench, startStoreBench } from '../support/store.ts';

const moments = ['before-body', 'after-body', 'after-record'] as const;

let bench: StoreBench;
let product: Product;

beforeAll(async () => {
  bench = await startStoreBench();
});
afterAll(() => bench.stop());

beforeEach(async () => {
  product = await createProduct(await bench.freshStore());
  await release({ containerd: '1.7.24' });
  await release({ containerd: '1.7.25' });
});
afterEach(() => product.close());

async function succeed(kind: string, subject: string, input: OperationRequest['input']): Promise<void> {
  const operation = await product.run({ kind, subject, input });
  expect(operation).toMatchObject({ state: 'succeeded', exceptions: [] });
}

async function release({ containerd, breaks }: { containerd: string; breaks?: string }): Promise<void> {
  const recipe = {
    name: 'node',
    numbering: 'semver',
    components: [{ name: 'containerd', version: containerd }],
    ...(breaks !== undefined && { settings: { sim: { breaks } } }),
  };
  const built = await product.run({ kind: 'build', subject: 'image/node', input: { recipe } });
  expect(built).toMatchObject({ state: 'succeeded' });
  if (breaks !== undefined) return;
  const { version } = built.result as { version: string };
  await succeed('test', `image/node:${version}`, { reference: `node:${version}` });
}

async function pool(capacity: number, orchestration = 'uniform'): Promise<void> {
  await succeed('pool-create', 'pool/web', { name: 'web', reference: 'node:1.0.0', capacity, orchestration });
}

function roll(input: object = {}): Promise<OperationRecord> {
  const all = { name: 'web', reference: 'node:1.0.1', bake: '0s', ...input };
  return product.run({ kind: 'rollout', subject: 'pool/web', input: all });
}

function versions(): readonly string[] {
  return product.sim.world.view().nodes.map(({ version }) => version);
}

function model(): string {
  const { pools } = product.sim.world.view();
  return pools.map(({ model: { version }, capacity }) => `${capacity} ${version}`).join();
}

describe('a rollout', () => {
  test.each(['uniform', 'flexible'])('moves all nodes of a %s pool and the model', async (orchestration) => {
    await pool(4, orchestration);
    expect(await roll({ maxUnavailable: '50%' })).toMatchObject({ state: 'succeeded', exceptions: [] });
    expect([model(), ...versions()]).toEqual(['4 1.0.1', '1.0.1', '1.0.1', '1.0.1', '1.0.1']);
    expect(await product.store.fleet.lastRollout('web')).toMatchObject({ state: 'succeeded' });
  });

  test('undo returns the pool to the version before, all nodes concurrently', async () => {
    await pool(3);
    await roll();
    const undone = await product.run({
      kind: 'rollout',
      subject: 'pool/web',
      input: { name: 'web', undo: true, now: true },
    });
    expect(undone).toMatchObject({ state: 'succeeded' });
    expect([model(), ...versions()]).toEqual(['3 1.0.0', '1.0.0', '1.0.0', '1.0.0']);
  });
});

describe('a faulty version', () => {
  const faulty = { reference: 'node:1.0.2', maxUnavailable: '2' };
  beforeEach(async () => {
    await release({ containerd: '1.7.26', breaks: 'agent' });
    await pool(5);
  });

  test('costs the canaries only, and everything returns to the last good version', async () => {
    const operation = await roll(faulty);
    expect(operation).toMatchObject({
      state: 'failed',
      error: { code: 'rollout-rolled-back', message: expect.stringContaining('could not be replaced') },
      exceptions: [],
    });
    expect(operation.steps.find(({ name }) => name === 'wave-1')?.result).toEqual({ failed: [] });
    expect([model(), ...versions()]).toEqual(['5 1.0.0', ...Array(5).fill('1.0.0')]);
    const lists = product.sim.world.view().nodes;
    expect(lists.filter(({ health }) => health === 'healthy')).toHaveLength(5);
  });

  test('is refused in this pool from then on, unless a person insists', async () => {
    await roll(faulty);
    expect(await roll(faulty)).toMatchObject({ state: 'failed', error: { code: 'rollout-refused' } });
    expect(await roll({ ...faulty, retryBad: true })).toMatchObject({
      error: { code: 'rollout-rolled-back' },
    });
    expect(await roll()).toMatchObject({ state: 'succeeded' });
  });

  test.each(['canaries', 'back-model', 'back', 'report'])(
    'is rolled back by the next process if one dies around step %s',
    async (step) => {
      const left = new Set<string>(moments);
      product.atPoint = ({ name, moment }) =>
        name === `step do:${step}` && left.delete(moment) ? 'die' : undefined;
      expect(await roll(faulty)).toMatchObject({ error: { code: 'rollout-rolled-back' }, exceptions: [] });
      expect(left.size).toBe(0);
      expect([model(), ...versions()]).toEqual(['5 1.0.0', ...Array(5).fill('1.0.0')]);
    },
  );
});

test('rule 3: the capacity that another user sets in the middle stays', async () => {
  await pool(4);
  let changed = false;
  product.atPoint = ({ name, moment }) =>
    name === 'step do:rest' && moment === 'before-body' && !changed ? 'die' : undefined;
  product.atDeath = async () => {
    changed = true;
    const options = { signal: new AbortController().signal, epoch: 0 };
    await product.sim.pools.setCapacity('web', 6, {}, options);
  };
  expect(await roll()).toMatchObject({ state: 'succeeded' });
  expect(model()).toBe('6 1.0.1');
});

test('rule 3: a cancelled rollout leaves new nodes what they had before', async () => {
  await pool(4);
  let deaths = 0;
  product.cancelAtDeath = true;
  product.atPoint = ({ name, moment }) =>
    name === 'step do:wave-1' && moment === 'before-body' && deaths++ === 0 ? 'die' : undefined;
  expect(await roll()).toMatchObject({ state: 'cancelled', exceptions: [] });
  expect(model()).toBe('4 1.0.0');
  expect(await product.store.fleet.lastRollout('web')).toMatchObject({ state: 'cancelled' });
});

const steps = ['plan', 'begin', 'model', 'canaries', 'rest', 'back-model', 'back', 'report'];

describe('rule 11: a process that dies at a step boundary changes nothing about the end', () => {
  test.each(steps)('killed around step %s', async (step) => {
    await pool(3);
    const left = new Set<string>(moments);
    product.atPoint = ({ name, moment }) =>
      name === `step do:${step}` && left.delete(moment) ? 'die' : undefined;
    expect(await roll()).toMatchObject({ state: 'succeeded', exceptions: [] });
    expect(left.size).toBe(0);
    expect([model(), ...versions()]).toEqual(['3 1.0.1', '1.0.1', '1.0.1', '1.0.1']);
  });
});
