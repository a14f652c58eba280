// What the store does when the database goes away, refuses or is slow: nothing is done twice, nothing is half done.
import { setTimeout as sleep } from 'node:timers/promises';
import { sql } from 'kysely';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { connectClient } from '../../src/database/connection/connection.ts';
import { acquireLease } from '../../src/database/lease/lease.ts';
import { openStore, type Store } from '../../src/database/open-database.ts';
import { type LossyDatabase, startLossyDatabase } from '../support/lossy-database.ts';
import {
  administer,
  cutConnections,
  digestOf,
  type StoreBench,
  seedImage,
  startStoreBench,
} from '../support/store.ts';
import { until } from '../support/until.ts';

let bench: StoreBench;

beforeAll(async () => {
  bench = await startStoreBench();
});

afterAll(() => bench.stop());

const image = { name: 'node', os: 'linux', architecture: 'x64', numbering: 'semver' } as const;

async function count(url: string, table: string): Promise<number> {
  const [row] = await administer<{ count: number }>(url, `select count(*) from imago.${table}`);
  return row?.count ?? 0;
}

describe('the connection is cut', () => {
  test('between two statements of a change: it is undone, and made again whole', async () => {
    const store = await bench.freshStore();
    let tries = 0;
    await store.database.write(async ({ tables, emit }) => {
      tries += 1;
      await tables
        .insertInto('images')
        .values({ ...image, created_at: '2026-01-01' })
        .execute();
      if (tries === 1) await cutConnections(store.database.url);
      emit({ type: 'x', subject: 's', data: null });
    });
    expect(tries).toBe(2);
    expect([await count(store.database.url, 'images'), await store.events.last()]).toEqual([1, 1]);
  });

  test('while nothing happens: the next call takes another one', async () => {
    const store = await bench.freshStore();
    await store.catalogue.ensureImage(image);
    await cutConnections(store.database.url);
    await sleep(20);
    expect(await store.catalogue.getImage('node')).toBeDefined();
  });

  test('under a long read: it is read again', async () => {
    const store = await bench.freshStore();
    await seedImage(store, 'node', 2);
    const reads = Array.from({ length: 40 }, () => store.catalogue.listVersions('node', { limit: 10 }));
    await cutConnections(store.database.url);
    for (const page of await Promise.all(reads)) expect(page.items).toHaveLength(2);
  });
});

describe('the reply to a commit is lost', () => {
  async function through(): Promise<{ proxy: LossyDatabase; store: Store; url: string }> {
    const url = await bench.freshDatabase();
    const proxy = await startLossyDatabase(url);
    const store = await bench.freshStore({ url: proxy.url });
    await store.catalogue.ensureImage(image);
    return { proxy, store, url };
  }

  test('an operation is recorded once', async () => {
    const { proxy, store, url } = await through();
    const request = { id: 'op', kind: 'k', subject: 's', by: 'ann', input: null, steps: ['one'] };
    proxy.loseReplyTo('commit');
    expect(await store.journal.create({ ...request, whenBusy: 'refuse' }, 0)).toMatchObject({ id: 'op' });
    expect([proxy.lost, await count(url, 'operations'), await count(url, 'steps')]).toEqual([1, 1, 1]);
    await proxy.close();
  });

  test('a number is taken once, and a version added once', async () => {
    const { proxy, store, url } = await through();
    proxy.loseReplyTo('commit');
    const version = await store.catalogue.reserveNumber('node', 'op', (used) => `1.0.${used.length}`);
    expect([version, await count(url, 'numbers')]).toEqual(['1.0.0', 1]);
    proxy.loseReplyTo('commit');
    await store.catalogue.addVersion({
      image: 'node',
      version,
      digest: digestOf(1),
      diskDigest: digestOf(2),
      sizeBytes: 1,
      origin: { kind: 'imported', from: 'disk' },
      operation: 'op',
    });
    expect([proxy.lost, await count(url, 'versions')]).toEqual([2, 1]);
    await proxy.close();
  });

  test('a channel is moved once, also when the caller says what it expects', async () => {
    const { proxy, store, url } = await through();
    const [version = ''] = await seedImage(store, 'node', 1);
    const before = await count(url, 'channel_moves');
    proxy.loseReplyTo('commit');
    const move = await store.catalogue.moveChannel({
      image: 'node',
      channel: 'production',
      to: version,
      expect: null,
      by: 'ann',
      why: 'first',
    });
    expect(move).toMatchObject({ to: version, why: 'first' });
    expect([proxy.lost, await count(url, 'channel_moves')]).toEqual([1, before + 1]);
    await proxy.close();
  });

  test('an idempotency key is still new to the one who claimed it, and not to another', async () => {
    const { proxy, store } = await through();
    proxy.loseReplyTo('commit');
    expect(await store.idempotency.claim('key', 'ann', 'f')).toEqual({ outcome: 'new' });
    expect(await store.idempotency.claim('key', 'ann', 'f')).toEqual({ outcome: 'running' });
    expect(proxy.lost).toBe(1);
    await proxy.close();
  });

  test('an audit entry, a token and evidence are written once', async () => {
    const { proxy, store, url } = await through();
    proxy.loseReplyTo('insert into "imago"."audit"');
    await store.audit.add({ who: 'ann', what: 'x', subject: 's', requestId: 'r', status: 200 });
    proxy.loseReplyTo('commit');
    const { secret } = await store.tokens.create('ann', 'viewer', '2999-01-01T00:00:00.000Z');
    proxy.loseReplyTo('commit');
    const evidence = {
      digest: digestOf(1),
      kind: 'test',
      passed: true,
      summary: 's',
      details: {},
      by: 'ann',
    } as const;
    await store.catalogue.addEvidence({ ...evidence, operation: 'op' });
    expect(proxy.lost).toBe(3);
    expect(await store.tokens.authenticate(secret)).toMatchObject({ owner: 'ann' });
    const counts = await Promise.all(['audit', 'tokens', 'evidence'].map((table) => count(url, table)));
    expect(counts).toEqual([1, 1, 1]);
    await proxy.close();
  });
});

test('PostgreSQL is killed and comes back: every write that was answered is there, none twice', async () => {
  const store = await bench.freshStore();
  const { url } = store.database;
  await store.catalogue.ensureImage(image);
  let stop = false;
  const answered: string[] = [];
  async function work(worker: number): Promise<void> {
    for (let index = 0; !stop; index += 1) {
      answered.push(
        await store.catalogue.reserveNumber('node', `${worker}/${index}`, (used) => `1.0.${used.length}`),
      );
    }
  }
  const workers = [work(1), work(2), work(3)];
  for (let kill = 0; kill < 2; kill += 1) {
    const before = answered.length;
    await until('five more answers', () => answered.length >= before + 5);
    await bench.postgres.kill();
    await bench.postgres.start();
  }
  stop = true;
  await Promise.all(workers);
  expect(new Set(answered).size).toBe(answered.length);
  expect(await count(url, 'numbers')).toBe(answered.length);
});

test('the lease is lost in the middle of a change: it is refused, and nothing of it stays', async () => {
  const url = await bench.freshDatabase();
  const lease = await acquireLease({ connect: () => connectClient(url) });
  const store = await bench.freshStore({ url, epoch: lease.epoch, signal: lease.signal });
  const change = store.database.write(async ({ tables }) => {
    await tables
      .insertInto('images')
      .values({ ...image, created_at: '2026-01-01' })
      .execute();
    await cutConnections(url);
    await until('the lease is lost', () => lease.signal.aborted);
    await tables.selectFrom('images').selectAll().execute();
  });
  await expect(change).rejects.toMatchObject({ code: 'owner-stale' });
  expect(await count(url, 'images')).toBe(0);
});

test('a newer daemon adds columns: a statement that was planned before is asked anew', async () => {
  const store = await bench.freshStore({ poolSize: 1 });
  await seedImage(store, 'node', 1);
  const before = await store.catalogue.resolve('node:latest');
  await administer(store.database.url, 'alter table imago.channels add later text');
  expect(await store.catalogue.resolve('node:latest')).toEqual(before);
  expect(await store.catalogue.resolve('node:latest')).toEqual(before);
});

describe('the database does not let us', () => {
  test('it is not there: said after the patience has run out', async () => {
    const nowhere = 'postgresql://imago@localhost/imago?host=%2Fnonexistent';
    const store = openStore({ url: nowhere, epoch: 0, patienceMs: 100 });
    await expect(store.catalogue.getImage('node')).rejects.toMatchObject({
      code: 'database-unreachable',
      retryable: true,
      hint: expect.stringContaining('IMAGO_DATABASE_URL'),
    });
    await store.close();
  });

  test('there is no such database', async () => {
    const store = openStore({ url: bench.postgres.url('missing'), epoch: 0 });
    await expect(store.catalogue.getImage('node')).rejects.toMatchObject({
      code: 'database-refused',
      message: expect.stringContaining('"missing" does not exist'),
    });
    await store.close();
  });

  test('its URL cannot be read: the error does not show it, for it may hold a password', async () => {
    const store = openStore({ url: 'postgresql://ann:hunter2@[::/imago', epoch: 0 });
    const error = await store.catalogue.getImage('node').catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: 'input-invalid' });
    expect(JSON.stringify([error, String(error)])).not.toContain('hunter2');
    await store.close();
  });

  test('it takes no writes', async () => {
    const store = await bench.freshStore();
    await store.catalogue.ensureImage(image);
    await administer(
      store.database.url,
      "do $$ begin execute format('alter database %I set default_transaction_read_only = on', current_database()); end $$",
    );
    await cutConnections(store.database.url);
    await expect(store.catalogue.ensureImage({ ...image, name: 'other' })).rejects.toMatchObject({
      code: 'database-readonly',
    });
    expect(await store.catalogue.getImage('node')).toBeDefined();
  });

  test('someone holds what it needs for too long', async () => {
    const store = await bench.freshStore();
    await store.catalogue.ensureImage(image);
    const blocker = await connectClient(store.database.url);
    await blocker.query('begin');
    await blocker.query('lock table imago.images in access exclusive mode');
    const waiting = store.database.read(async (tables) => {
      await sql`set lock_timeout = '50ms'`.execute(tables);
      return tables.selectFrom('images').selectAll().execute();
    });
    await expect(waiting).rejects.toMatchObject({ code: 'database-busy', retryable: true });
    await blocker.end();
  });

  test('two changes lock the same rows crosswise: both are made', async () => {
    const store = await bench.freshStore();
    await store.catalogue.ensureImage(image);
    await store.catalogue.ensureImage({ ...image, name: 'other' });
    const bothHold = Promise.withResolvers<void>();
    let holding = 0;
    const lockBoth = (names: readonly string[]) =>
      store.database.write(async ({ tables }) => {
        for (const name of names) {
          await tables.selectFrom('images').selectAll().where('name', '=', name).forUpdate().execute();
          holding += 1;
          if (holding === 2) bothHold.resolve();
          await bothHold.promise;
        }
        return names;
      });
    const done = await Promise.all([lockBoth(['node', 'other']), lockBoth(['other', 'node'])]);
    expect(done).toHaveLength(2);
  });
});
