// The log of events: a watcher misses nothing, however many write at once and whatever happens to its connection.
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { connectClient } from '../../src/database/connection/connection.ts';
import { listenForEvents } from '../../src/database/connection/listen.ts';
import type { Store } from '../../src/database/open-database.ts';
import { administer, cutConnections, type StoreBench, startStoreBench } from '../support/store.ts';
import { until } from '../support/until.ts';

let bench: StoreBench;

beforeAll(async () => {
  bench = await startStoreBench();
});

afterAll(() => bench.stop());

const listener = "query = 'listen imago_events' or query like 'select imago.settled_events()%'";

async function isListening(url: string): Promise<boolean> {
  const found = await administer(
    url,
    `select from pg_stat_activity where datname = current_database() and (${listener})`,
  );
  return found.length > 0;
}

test('an id that was chosen earlier and committed later is not passed over', async () => {
  const store = await bench.freshStore();
  const writers = 6;
  const each = 12;
  let done = 0;

  async function write(writer: number): Promise<void> {
    const client = await connectClient(store.database.url, { 'imago.epoch': '0' });
    for (let index = 0; index < each; index += 1) {
      await client.query('begin');
      await client.query("select imago.add_event('written', $1, 'null')", [`${writer}/${index}`]);
      if ((writer + index) % 3 === 0) await sleep(7);
      await client.query((writer * index) % 5 === 4 ? 'rollback' : 'commit');
    }
    await client.end();
    done += 1;
  }

  const seen: number[] = [];
  async function watch(): Promise<void> {
    for (let last = false; !last; ) {
      last = done === writers;
      const events = await store.events.list({ after: seen.at(-1) ?? 0, limit: 1_000 });
      seen.push(...events.map(({ id }) => id));
    }
  }

  await Promise.all([...Array.from({ length: writers }, (_, writer) => write(writer)), watch()]);
  const all = await store.events.list({ after: 0, limit: 1_000 });
  expect(all.length).toBeGreaterThan(writers);
  expect(seen).toEqual(all.map(({ id }) => id));
});

test('an event waits for those with a lower id, and is shown when their transaction has failed', async () => {
  const store = await bench.freshStore();
  const slow = await connectClient(store.database.url, { 'imago.epoch': '0' });
  await slow.query('begin');
  await slow.query("select imago.add_event('slow', 's', 'null')");
  await store.events.add({ type: 'quick', subject: 's', data: null });
  expect([await store.events.last(), await store.events.list({ after: 0, limit: 9 })]).toEqual([0, []]);
  await slow.query('rollback');
  await slow.end();
  expect(await store.events.list({ after: 0, limit: 9 })).toMatchObject([{ id: 2, type: 'quick' }]);
  expect(await store.events.last()).toBe(2);
});

test('events of one change come in the order in which they were emitted, beside those of others', async () => {
  const store = await bench.freshStore();
  const add = (change: number) =>
    store.database.write(async ({ emit }) => {
      for (let index = 0; index < 5; index += 1) emit({ type: 'x', subject: 's', data: { change, index } });
    });
  await Promise.all(Array.from({ length: 8 }, (_, change) => add(change)));
  const events = await store.events.list({ after: 0, limit: 100 });
  const byChange = Map.groupBy(events, ({ data }) => (data as { change: number }).change);
  const indexes = [...byChange.values()].map((some) =>
    some.map(({ data }) => (data as { index: number }).index),
  );
  expect(indexes).toEqual(Array.from({ length: 8 }, () => [0, 1, 2, 3, 4]));
});

test('a change that fails leaves no event', async () => {
  const store = await bench.freshStore();
  const failing = store.database.write(async ({ emit }) => {
    emit({ type: 'x', subject: 's', data: null });
    throw new Error('changed my mind');
  });
  await expect(failing).rejects.toThrow('changed my mind');
  expect(await store.events.last()).toBe(0);
});

test('a watcher reads on after any event, all or one subject', async () => {
  const store = await bench.freshStore();
  for (let index = 0; index < 6; index += 1) {
    await store.events.add({ type: 'x', subject: index % 2 === 0 ? 'even' : 'odd', data: { index } });
  }
  const [, second] = await store.events.list({ after: 0, limit: 2 });
  const rest = await store.events.list({ after: second?.id ?? 0, limit: 10 });
  expect(rest.map(({ data }) => data)).toEqual([{ index: 2 }, { index: 3 }, { index: 4 }, { index: 5 }]);
  const odd = await store.events.list({ subject: 'odd', after: second?.id ?? 0, limit: 10 });
  expect(odd.map(({ data }) => data)).toEqual([{ index: 3 }, { index: 5 }]);
  expect(await store.events.last()).toBe(rest.at(-1)?.id);
});

describe('listeners', () => {
  test('are told of what another process adds, and not only by looking now and then', async () => {
    const store = await bench.freshStore();
    const other = await bench.freshStore({ url: store.database.url });
    let calls = 0;
    const stop = store.events.onAdded(() => {
      calls += 1;
    });
    await until('the first call', () => calls > 0);
    await other.events.add({ type: 'x', subject: 's', data: null });
    await until('the second call', () => calls > 1);
    const notLookedYet = "select from pg_stat_activity where query = 'listen imago_events'";
    expect(await administer(store.database.url, notLookedYet)).toHaveLength(1);
    stop();
  });

  test('are told after the connection was cut, of what was added meanwhile', async () => {
    const store = await bench.freshStore();
    const { url } = store.database;
    let lastSeen = 0;
    const stop = store.events.onAdded(async () => {
      lastSeen = Math.max(lastSeen, await store.events.last());
    });
    while (!(await isListening(url)));
    await cutConnections(url, listener);
    await store.events.add({ type: 'while cut off', subject: 's', data: null });
    await until('the event is seen', () => lastSeen > 0);
    stop();
  });

  test('are told after the database was killed and came back', async () => {
    const store = await bench.freshStore();
    let lastSeen = 0;
    const stop = store.events.onAdded(async () => {
      lastSeen = Math.max(lastSeen, await store.events.last().catch(() => 0));
    });
    while (!(await isListening(store.database.url)));
    await bench.postgres.kill();
    await bench.postgres.start();
    await store.events.add({ type: 'after', subject: 's', data: null });
    await until('the event is seen', () => lastSeen > 0);
    stop();
  });

  test('are told of an event whose notice was lost, and not while there is nothing new', async () => {
    const store = await bench.freshStore();
    const { url } = store.database;
    const listening = listenForEvents(url, { checkMs: 20 });
    let calls = 0;
    listening.onAdded(() => {
      calls += 1;
    });
    await until('the first call', () => calls > 0);
    const checks = "select from pg_stat_activity where query like 'select imago.settled_events()%'";
    await until('it has looked', async () => (await administer(url, checks)).length > 0);
    expect(calls).toBe(1);
    const silent = await connectClient(url, { 'imago.epoch': '0' });
    await silent.query("insert into imago.events (type, subject, data) values ('x', 's', 'null')");
    await silent.end();
    await until('the second call', () => calls > 1);
    await listening.close();
  });

  test('that left are not told any more, and hold no connection', async () => {
    const store = await bench.freshStore();
    let calls = 0;
    const stop = store.events.onAdded(() => {
      calls += 1;
    });
    await until('the first call', () => calls > 0);
    stop();
    stop();
    while (await isListening(store.database.url));
    const before = calls;
    await store.events.add({ type: 'x', subject: 's', data: null });
    expect(calls).toBe(before);
  });
});

describe('retention', () => {
  async function filled(count: number): Promise<Store> {
    const store = await bench.freshStore();
    await store.database.write(async ({ emit }) => {
      for (let index = 0; index < count; index += 1) emit({ type: 'x', subject: 's', data: null });
    });
    return store;
  }

  test('by count keeps the newest', async () => {
    const { events } = await filled(30);
    expect(await events.trim({ maxCount: 10, minCount: 0 })).toBe(20);
    expect([await events.oldest(), await events.last()]).toEqual([21, 30]);
  });

  test('by age', async () => {
    const { events, database } = await filled(30);
    const client = await connectClient(database.url, { 'imago.epoch': '0' });
    await client.query("update imago.events set at = now() - interval '8 days' where id <= 12");
    await client.end();
    expect(await events.trim({ minCount: 5 })).toBe(12);
    expect(await events.oldest()).toBe(13);
  });

  test('a clock that jumps ahead does not empty the log', async () => {
    const { events } = await filled(30);
    expect(await events.trim({ maxAgeMs: -3_600_000, minCount: 25 })).toBe(5);
    expect(await events.oldest()).toBe(6);
  });

  test('ids grow on after everything was trimmed', async () => {
    const { events } = await filled(5);
    await events.trim({ maxCount: 0, minCount: 0 });
    expect([await events.oldest(), await events.last()]).toEqual([0, 0]);
    await events.add({ type: 'x', subject: 's', data: null });
    expect(await events.last()).toBe(6);
  });
});
