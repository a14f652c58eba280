// Undo is proven by comparing the world before and after, for every step and every fault.
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { OperationRequest } from '../../src/ports/workflow/operation.ts';
import { createProduct, type Product } from '../support/product.ts';
import { type StoreBench, startStoreBench } from '../support/store.ts';

let bench: StoreBench;
let product: Product;

beforeAll(async () => {
  bench = await startStoreBench();
});
afterAll(() => bench.stop());

beforeEach(async () => {
  product = await createProduct(await bench.freshStore());
  for (const containerd of ['1.7.24', '1.7.25']) await release(containerd);
  await succeed('pool-create', 'pool/old', { name: 'old', reference: 'node:1.0.0', capacity: 2 });
});
afterEach(() => product.close());

async function succeed(kind: string, subject: string, input: OperationRequest['input']): Promise<void> {
  const operation = await product.run({ kind, subject, input });
  expect(operation).toMatchObject({ state: 'succeeded', exceptions: [] });
}

async function release(containerd: string): Promise<void> {
  const recipe = {
    name: 'node',
    numbering: 'semver',
    components: [{ name: 'containerd', version: containerd }],
  };
  const built = await product.run({ kind: 'build', subject: 'image/node', input: { recipe } });
  const { version } = built.result as { version: string };
  await succeed('test', `image/node:${version}`, { reference: `node:${version}` });
}

const requests = {
  'pool-create': {
    kind: 'pool-create',
    subject: 'pool/web',
    input: { name: 'web', reference: 'node:1.0.1', capacity: 2 },
  },
  'pool-scale': { kind: 'pool-scale', subject: 'pool/old', input: { name: 'old', capacity: 4 } },
  'pool-set-image': {
    kind: 'pool-set-image',
    subject: 'pool/old',
    input: { name: 'old', reference: 'node:1.0.1', pin: false },
  },
  test: { kind: 'test', subject: 'image/node:1.0.1', input: { reference: 'node:1.0.1' } },
} as const;

const steps = {
  'pool-create': ['resolve', 'name', 'publish', 'create', 'record'],
  'pool-scale': ['remember', 'scale', 'record'],
  'pool-set-image': ['resolve', 'publish', 'remember', 'model', 'record'],
  test: ['resolve', 'boot', 'disk', 'check', 'restart', 'clean'],
} as const;

const boundaries = Object.entries(steps).flatMap(([kind, names]) =>
  names.map((name) => [kind, name] as const),
);

describe('rule 1: cancel leaves the world as it was', () => {
  test.each(boundaries)('%s, cancelled at step %s', async (kind, step) => {
    const before = await product.look();
    let deaths = 0;
    product.cancelAtDeath = true;
    product.atPoint = ({ name, moment }) =>
      name === `step do:${step}` && moment === 'before-body' && deaths++ === 0 ? 'die' : undefined;
    const operation = await product.run(requests[kind as keyof typeof requests]);
    expect(operation).toMatchObject({ state: 'cancelled', exceptions: [] });
    expect(await product.look()).toEqual(before);
  });
});

describe('rule 11: a process that dies at a step boundary leaves no trace of it in the end', () => {
  test.each(boundaries)('%s, killed around step %s', async (kind, step) => {
    const moments = new Set(['before-body', 'after-body', 'after-record']);
    product.atPoint = ({ name, moment }) =>
      name === `step do:${step}` && moments.delete(moment) ? 'die' : undefined;
    const operation = await product.run(requests[kind as keyof typeof requests]);
    expect(moments.size).toBe(0);
    expect(operation).toMatchObject({ state: 'succeeded', exceptions: [] });
    const { pools, machines } = product.sim.world.view();
    expect(machines).toEqual([]);
    expect(pools.map(({ name, capacity, model }) => `${name} ${capacity} ${model.version}`)).toEqual(
      after[kind as keyof typeof after],
    );
  });
});

const after = {
  'pool-create': ['old 2 1.0.0', 'web 2 1.0.1'],
  'pool-scale': ['old 4 1.0.0'],
  'pool-set-image': ['old 2 1.0.1'],
  test: ['old 2 1.0.0'],
} as const;

const calls = [
  ['pool-create', 'gallery.createVersion'],
  ['pool-create', 'pools.createPool'],
  ['pool-scale', 'pools.setCapacity'],
  ['pool-set-image', 'pools.setModel'],
  ['test', 'machines.createMachine'],
  ['test', 'machines.deleteMachine'],
] as const;
const passing = [
  'fails',
  'fails-but-took-effect',
  'succeeds-but-did-nothing',
  'reply-lost',
  'throttled',
] as const;

describe('D4: the read decides, whatever the provider said', () => {
  test.each(calls.flatMap(([kind, call]) => passing.map((fault) => [kind, call, fault] as const)))(
    '%s: %s %s once, and the operation still succeeds',
    async (kind, call, fault) => {
      product.sim.faults.add({ call, kind: fault });
      const operation = await product.run(requests[kind]);
      expect(product.sim.faults.list()[0]?.hits).toBe(1);
      expect(operation).toMatchObject({ state: 'succeeded', exceptions: [] });
      const { pools, machines } = product.sim.world.view();
      expect(machines).toEqual([]);
      expect(pools.map(({ name, capacity, model }) => `${name} ${capacity} ${model.version}`)).toEqual(
        after[kind],
      );
    },
  );

  test.each(calls.slice(0, 5))('%s: %s fails for good, and the world is as it was', async (kind, call) => {
    const before = await product.look();
    product.sim.faults.add({ call, kind: 'fails', count: 'always' });
    const operation = await product.run(requests[kind]);
    expect(operation.state).toBe('failed');
    product.sim.faults.clear();
    expect(operation.exceptions).toEqual([]);
    expect(await product.look()).toEqual(before);
  });
});

describe('rule 3: capacity that someone else set is never overwritten', () => {
  test('an autoscaler that acts before we undo keeps what it set', async () => {
    let deaths = 0;
    product.cancelAtDeath = true;
    product.atPoint = ({ name, moment }) => {
      if (moment !== 'before-body') return undefined;
      if (name === 'step undo:scale') product.sim.world.setCapacityByOther('old', 7);
      return name === 'step do:record' && deaths++ === 0 ? 'die' : undefined;
    };
    const operation = await product.run(requests['pool-scale']);
    expect(operation).toMatchObject({ state: 'cancelled', exceptions: [] });
    expect(product.sim.world.view().pools[0]?.capacity).toBe(7);
  });

  test('an autoscaler that acts before we scale is not overruled', async () => {
    product.atPoint = ({ name, moment }) => {
      if (name === 'step do:scale' && moment === 'before-body')
        product.sim.world.setCapacityByOther('old', 7);
      return undefined;
    };
    const operation = await product.run(requests['pool-scale']);
    expect(operation).toMatchObject({ state: 'failed', exceptions: [] });
    expect(product.sim.world.view().pools[0]?.capacity).toBe(7);
  });
});
