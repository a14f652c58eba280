// Random sequences of publish, capture, test, promote, withdraw, restore, prune, delete and changes of channels: no rule
// breaks on the way, the store is what a model of the rules says, and the state rebuilt from the log equals the state.
import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Store } from '../../src/database/open-database.ts';
import {
  brokenRules,
  type CatalogueAction,
  catalogueAction,
  compareWithModel,
  createModel,
  modelImage,
  play,
  prepareStore,
} from '../support/catalogue-model.ts';
import { digestOf, type StoreBench, startStoreBench } from '../support/store.ts';

let bench: StoreBench;

beforeAll(async () => {
  bench = await startStoreBench();
});
afterAll(() => bench.stop());

async function freshStore(): Promise<Store> {
  const store = await bench.freshStore();
  await prepareStore(store);
  return store;
}

test('one after the other: the store is what the rules say, after every step', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(catalogueAction, { minLength: 10, maxLength: 30 }), async (actions) => {
      const store = await freshStore();
      const model = createModel();
      try {
        for (const action of actions) {
          expect(await play(store, model, action)).toBeUndefined();
          expect(await brokenRules(store)).toEqual([]);
        }
        const both = await compareWithModel(store, model);
        expect(both.store).toEqual(both.model);
      } finally {
        await store.close();
      }
    }),
    { numRuns: 6 },
  );
});

const atOnce: ReadonlySet<string> = new Set(['move', 'withdraw', 'restore', 'capture', 'prune', 'drop']);

test('all at once, from clocks an hour apart: whatever the order, no rule is broken', async () => {
  const concurrent = fc.array(
    catalogueAction.filter(({ do: what }) => atOnce.has(what)),
    { minLength: 6, maxLength: 20 },
  );
  await fc.assert(
    fc.asyncProperty(concurrent, async (actions) => {
      const url = await bench.freshDatabase();
      const store = await bench.freshStore({ url });
      const late = await bench.freshStore({ url, now: () => Date.now() - 3_600_000 });
      await prepareStore(store);
      const model = createModel();
      try {
        const setUp: CatalogueAction[] = [0, 1, 2, 3].flatMap((version) => [
          { do: 'publish', restricted: false },
          { do: 'test', version, passed: true },
        ]);
        for (const action of setUp) expect(await play(store, model, action)).toBeUndefined();
        await Promise.all(
          actions.map((action, index) => blindly(index % 2 === 0 ? store : late, action, index)),
        );
        expect(await brokenRules(store)).toEqual([]);
      } finally {
        await Promise.all([store.close(), late.close()]);
      }
    }),
    { numRuns: 6 },
  );
});

/** Whether it is allowed depends on who comes first: refusals are answers too. */
async function blindly(store: Store, action: CatalogueAction, index: number): Promise<void> {
  if (!('version' in action)) return;
  const version = `1.0.${action.version % 4}`;
  const operation = `${action.do}-${index}`;
  const name = { image: modelImage, version };
  if (action.do === 'move') {
    const channel = action.channel % 2 === 0 ? 'staging' : 'production';
    const request = { image: modelImage, channel, to: version, by: 'model', why: 'model' };
    await store.catalogue.moveChannel(request).catch(expectRefusal);
  } else if (action.do === 'withdraw') {
    const request = { ...name, reason: 'model', withDescendants: false, by: 'model', operation };
    await store.lifecycle.withdrawals.withdraw(request).catch(expectRefusal);
  } else if (action.do === 'capture') {
    const digest = digestOf(`6${index}`);
    const { retention } = store.lifecycle;
    // The donor and the operation keep the parent of a capture until the new version does.
    if ((await retention.hold(name, 'capture', 'model').catch(expectRefusal)) === undefined) return;
    await store.catalogue.addVersion({
      ...{ image: modelImage, version: `2.0.${index}`, digest, diskDigest: digest, sizeBytes: 1, operation },
      origin: { kind: 'captured', node: 'donor', parent: `${modelImage}:${version}` },
    });
    await retention.release(name, 'model');
  } else if (action.do === 'prune') {
    const { retention } = store.lifecycle;
    const keepers = await retention.condemn(name, {}, { by: 'model', operation }).catch(expectRefusal);
    if (keepers?.length === 0) await retention.finish(name, 'model').catch(expectRefusal);
  } else if (action.do === 'drop') {
    await store.catalogue.dropVersion(modelImage, version).catch(expectRefusal);
  } else {
    const change = { by: 'model', why: 'model', operation };
    await store.lifecycle.withdrawals.restore(name, change).catch(expectRefusal);
  }
}

function expectRefusal(thrown: unknown): void {
  expect(['refused', 'conflict']).toContain((thrown as { kind?: string }).kind);
}
