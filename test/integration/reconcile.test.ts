// What is put right from time to time: machines that an ended operation left, and those that were kept for a look.
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { keptForMs } from '../../src/operations/image-test/operations.ts';
import { reconcile } from '../../src/operations/reconcile/reconcile.ts';
import { createProduct, type Product } from '../support/product.ts';
import { patience } from '../support/speed.ts';
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
  return (await reconcile({ ...product.deps, now }, AbortSignal.timeout(patience(20_000)))).removedMachines;
}

function machines(): number {
  return product.sim.world.view().machines.length;
}

test('pools of a provider that is not here are told in one sentence, and keep none of the others waiting', async () => {
  const recipe = { name: 'node', numbering: 'semver', components: [], settings: {} };
  await product.run({ kind: 'build', subject: 'image/node', input: { recipe } });
  await product.run({ kind: 'test', subject: 'image/node:1.0.0', input: { reference: 'node:1.0.0' } });
  const input = { name: 'web', reference: 'node:1.0.0', capacity: 1 };
  await product.run({ kind: 'pool-create', subject: 'pool/web', input });
  const { fleet } = product.store;
  const here = await fleet.getPool('web');
  if (here === undefined) throw new Error('The pool was not made.');
  const { createdAt: _, ...web } = here;
  for (const name of ['a', 'b']) await fleet.addPool({ ...web, name, provider: 'azure' });
  await fleet.markGone('web', new Set(), new Date().toISOString());
  const { problems } = await reconcile(
    { ...product.deps, now: Date.now },
    AbortSignal.timeout(patience(20_000)),
  );
  expect(problems).toEqual([
    {
      ...{ kind: 'provider-missing', subject: 'provider/azure' },
      message: 'There is no provider azure here: the nodes of 2 of its pools are not checked.',
    },
  ]);
  expect((await fleet.listNodes('web', { limit: 5 })).items).toHaveLength(1);
});

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
