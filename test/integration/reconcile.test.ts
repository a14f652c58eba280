// What is put right from time to time: machines that an ended operation left, and those that were kept for a look.
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { reconcile } from '../../src/operations/reconcile.ts';
import { keptForMs } from '../../src/operations/test-image.ts';
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
});
afterEach(() => product.close());

async function failTest(keepOnFailure: boolean): Promise<void> {
  const recipe = {
    name: 'node',
    numbering: 'semver',
    components: [],
    settings: { sim: { breaks: 'agent' } },
  };
  await product.run({ kind: 'build', subject: 'image/node', input: { recipe } });
  const input = { reference: 'node:1.0.0', keepOnFailure };
  const { state } = await product.run({ kind: 'test', subject: 'image/node:1.0.0', input });
  expect(state).toBe('failed');
}

async function round(after = 0): Promise<readonly string[]> {
  const now = () => Date.now() + after;
  return (await reconcile({ ...product.deps, now }, AbortSignal.timeout(20_000))).removedMachines;
}

function machines(): number {
  return product.sim.world.view().machines.length;
}

test('a test that failed leaves no machine', async () => {
  await failTest(false);
  expect(machines()).toBe(0);
  expect(await round()).toEqual([]);
});

test('one that was asked to leaves its machines for a look, and not for longer', async () => {
  await failTest(true);
  expect(machines()).toBe(2);
  expect(await round()).toEqual([]);
  expect(await round(keptForMs - 60_000)).toEqual([]);
  expect(machines()).toBe(2);
  expect(await round(keptForMs + 60_000)).toHaveLength(2);
});
