// Operations that ended long ago are let go of, and nothing that somebody still needs.
import { sql } from 'kysely';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { Store } from '../../src/database/open-database.ts';
import { tidyOperations } from '../../src/database/operation/prune-operations.ts';
import { seed } from '../support/lineage-seed.ts';
import { type StoreBench, startStoreBench } from '../support/store.ts';

let bench: StoreBench;
let store: Store;

beforeAll(async () => {
  bench = await startStoreBench();
});
beforeEach(async () => {
  store = await bench.freshStore();
});
afterAll(() => bench.stop());

const retention = { recordDays: 365, logDays: 30, minCount: 0 };
const day = 86_400_000;

interface Made {
  /** How many days ago it ended; absent: it runs. */
  readonly ended?: number;
  readonly parent?: string;
}

async function operation(id: string, { ended, parent }: Made): Promise<void> {
  const request = { id, kind: 'build', subject: 'image/node', by: 'ann', input: {}, steps: ['one'] };
  await store.journal.create({ ...request, ...(parent === undefined ? {} : { parent }) }, Date.now());
  await store.journal.log(id, Date.now(), ['a line', 'another']);
  if (ended === undefined) return;
  const endedAt = new Date(Date.now() - ended * day).toISOString();
  await store.journal.update(id, { state: 'succeeded', endedAt });
}

async function known(): Promise<Record<string, number>> {
  const { items } = await store.operationLists.list({}, { limit: 1000 });
  const lines = items.map(async ({ id }) => [
    id,
    (await store.operationLists.logs(id, { limit: 10 })).items.length,
  ]);
  return Object.fromEntries(await Promise.all(lines));
}

describe('ended operations', () => {
  test('lose their logs after a month and go after a year; what runs stays, however old', async () => {
    await operation('running', {});
    await operation('ancient', { ended: 366 });
    await operation('older', { ended: 40 });
    await operation('recent', { ended: 20 });
    expect(await tidyOperations(store.database, retention)).toEqual({ operations: 1, logLines: 4 });
    expect(await known()).toEqual({ running: 2, older: 0, recent: 2 });
    expect(await tidyOperations(store.database, retention)).toEqual({ operations: 0, logLines: 0 });
  });

  test('go with their children, and stay with one that runs or is younger', async () => {
    for (const [family, last] of [
      ['whole', { ended: 400 }],
      ['young', { ended: 100 }],
      ['live', {}],
    ] as const) {
      await operation(family, { ended: 400 });
      await operation(`${family} child`, { ended: 400, parent: family });
      await operation(`${family} grandchild`, { ...last, parent: `${family} child` });
    }
    await operation('orphan', { ended: 400, parent: 'gone long ago' });
    expect((await tidyOperations(store.database, retention)).operations).toBe(4);
    expect(Object.keys(await known()).sort()).toEqual([
      ...['live', 'live child', 'live grandchild', 'young', 'young child', 'young grandchild'],
    ]);
  });

  test('stay while a withdrawal that they planned has not come about', async () => {
    const { version } = await seed(store);
    for (const number of ['1.0.0', '1.0.1']) await version(number);
    await operation('planner', { ended: 400 });
    await store.lifecycle.withdrawals.withdraw({
      ...{ image: 'node', version: '1.0.0', reason: 'old', withDescendants: false, by: 'ann' },
      ...{ operation: 'planner', at: new Date(Date.now() + day).toISOString() },
    });
    expect((await tidyOperations(store.database, retention)).operations).toBe(0);
    await store.lifecycle.withdrawals.restore(
      { image: 'node', version: '1.0.0' },
      { by: 'ann', why: 'not after all', operation: 'restore' },
    );
    expect((await tidyOperations(store.database, retention)).operations).toBe(1);
  });

  test('the newest stay whatever the clock says, and many go in batches', async () => {
    for (let index = 0; index < 4; index += 1) await operation(`op-${index}`, { ended: 400 });
    const keepTwo = { ...retention, minCount: 2 };
    expect(await tidyOperations(store.database, keepTwo)).toEqual({ operations: 2, logLines: 4 });
    expect(await known()).toEqual({ 'op-2': 2, 'op-3': 2 });
    await addMany(450);
    expect((await tidyOperations(store.database, retention)).operations).toBe(452);
  });

  test('are tidied by the store, by the days that it was opened with', async () => {
    await operation('old', { ended: 50 });
    await store.tidy();
    expect(await known()).toEqual({ old: 2 });
    const strict = await bench.freshStore({
      ...{ url: store.database.url, keep: { recordDays: 45, logDays: 7, minCount: 0 } },
    });
    await strict.tidy();
    expect(await known()).toEqual({});
  });
});

async function addMany(count: number): Promise<void> {
  await store.database.writeOnce((tables) =>
    sql`insert into imago.operations
        (id, kind, subject, requested_by, key, input, state, created_at, ended_at)
      select 'many-' || n, 'build', 'image/node', 'ann', 'image/node', '{}', 'failed', '2020-01-01', '2020-01-01'
      from generate_series(1, ${count}::integer) n`.execute(tables),
  );
}
