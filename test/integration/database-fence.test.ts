// Rule 12: a stale owner's late writes are refused. And what is kept for ever stays as it is.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { connectClient, urlWithEpoch } from '../../src/database/connection/connection.ts';
import { fenceSchema } from '../../src/database/lease/fence.ts';
import { acquireLease } from '../../src/database/lease/lease.ts';
import type { Store } from '../../src/database/open-database.ts';
import { administer, digestOf, type StoreBench, seedImage, startStoreBench } from '../support/store.ts';

let bench: StoreBench;

beforeAll(async () => {
  bench = await startStoreBench();
});

afterAll(() => bench.stop());

const notActive = expect.objectContaining({ code: 'owner-stale', kind: 'conflict' });

describe('a daemon that is no longer active', () => {
  test('cannot write through any part of the store, and can read', async () => {
    const store = await bench.freshStore();
    const { database, catalogue, fleet, journal, events, tokens, audit, idempotency, schedules } = store;
    const [version = ''] = await seedImage(store, 'node', 1);
    const operation = { kind: 'build', subject: 'image/node', by: 'me', input: {}, steps: ['one'] };
    await journal.create({ ...operation, id: 'op' }, 0);
    const { record, secret } = await tokens.create('me', 'admin', '2999-01-01T00:00:00.000Z');
    const lastEvent = await events.last();
    await administer(database.url, 'update imago.lease set epoch = epoch + 1');

    const writes: Readonly<Record<string, () => Promise<unknown>>> = {
      ensureImage: () =>
        catalogue.ensureImage({ name: 'other', os: 'linux', architecture: 'x64', numbering: 'date' }),
      reserveNumber: () => catalogue.reserveNumber('node', 'late', () => '9.9.9'),
      addVersion: () =>
        catalogue.addVersion({
          image: 'node',
          version: '9.9.9',
          digest: digestOf(9),
          diskDigest: digestOf(9),
          sizeBytes: 1,
          origin: { kind: 'imported', from: 'disk' },
          operation: 'late',
        }),
      setVersionState: () =>
        catalogue.setVersionState('node', version, 'withdrawn', { by: 'me', reason: 'x' }),
      moveChannel: () =>
        catalogue.moveChannel({ image: 'node', channel: 'production', to: version, by: 'me', why: 'late' }),
      addEvidence: () =>
        catalogue.addEvidence({
          digest: digestOf(1),
          kind: 'scan',
          passed: true,
          summary: '',
          details: null,
          by: 'me',
        }),
      addPool: () =>
        fleet.addPool({
          name: 'web',
          provider: 'sim',
          orchestration: 'uniform',
          size: 's',
          reference: `node:${version}`,
          image: 'node',
          version,
          digest: digestOf(1),
          nodeConfig: '',
        }),
      recordNodes: () =>
        fleet.recordNodes([
          {
            name: 'n',
            pool: 'web',
            machineId: 'm',
            image: 'node',
            version,
            digest: digestOf(1),
            reference: 'node',
            at: '2026-01-01T00:00:00.000Z',
          },
        ]),
      create: () => journal.create({ ...operation, id: 'late' }, 0),
      update: () => journal.update('op', { state: 'running' }),
      updateQuickly: () => journal.update('op', { state: 'running' }, { durable: false }),
      updateStep: () => journal.update('op', { steps: { one: { state: 'running' } } }),
      log: () => journal.log('op', 0, ['late']),
      requestCancel: () => journal.requestCancel('op', 'me'),
      addEvent: () => events.add({ type: 'late', subject: 'x', data: null }),
      createToken: () => tokens.create('me', 'admin', '2999-01-01T00:00:00.000Z'),
      revoke: () => tokens.revoke(record.id),
      audit: () => audit.add({ who: 'me', what: 'x', subject: 'x', requestId: '1', status: 200 }),
      claim: () => idempotency.claim('key', 'me', 'x'),
      schedule: () =>
        schedules.create({
          name: 's',
          cron: '* * * * *',
          timeZone: 'UTC',
          kind: 'build',
          subject: 'x',
          input: null,
          by: 'me',
        }),
    };
    for (const [name, write] of Object.entries(writes))
      await expect(write(), name).rejects.toEqual(notActive);

    expect(await events.last()).toBe(lastEvent);
    expect(await journal.get('late')).toBeUndefined();
    expect((await journal.get('op'))?.state).toBe('queued');
    expect(await fleet.getPool('web')).toBeUndefined();
    expect((await catalogue.resolve('node:latest')).version).toBe(version);
    expect(await tokens.authenticate(secret)).toMatchObject({ id: record.id });
  });

  test('has no table that it could still write to', async () => {
    const url = await bench.freshDatabase();
    const open = await administer<{ name: string }>(
      url,
      `select c.relname as name from pg_class c join pg_namespace n on n.oid = c.relnamespace
       where n.nspname = 'imago' and c.relkind = 'r'
         and not exists (select from pg_trigger t where t.tgrelid = c.oid and t.tgname = 'a_fence' and t.tgenabled = 'O')
       order by 1`,
    );
    expect(open.map(({ name }) => name)).toEqual(['lease', 'migrations']);
  });

  test('is refused when its lease says so, before the database is asked', async () => {
    const lost = new AbortController();
    const store = await bench.freshStore({ signal: lost.signal });
    lost.abort();
    await expect(store.events.add({ type: 'late', subject: 'x', data: null })).rejects.toEqual(notActive);
    expect(await store.events.last()).toBe(0);
  });
});

test('a connection that names no epoch cannot write', async () => {
  const url = await bench.freshDatabase();
  const writing = administer(url, "insert into imago.events (type, subject, data) values ('x', 'x', 'null')");
  await expect(writing).rejects.toMatchObject({ code: 'IM001' });
});

test("another library's tables can be fenced too, and only the active epoch writes to them", async () => {
  const { database } = await bench.freshStore();
  await administer(database.url, 'create schema dbos; create table dbos.outputs (step text)');
  await fenceSchema(database, 'dbos');
  await fenceSchema(database, 'dbos');
  await fenceSchema(database, 'nothing');
  const write = (url: string) => administer(url, "insert into dbos.outputs values ('one')");
  await expect(write(database.url)).rejects.toMatchObject({ code: 'IM001' });
  await expect(write(urlWithEpoch(database.url, 0))).resolves.toEqual([]);
  await administer(database.url, 'update imago.lease set epoch = 1');
  await expect(write(urlWithEpoch(database.url, 0))).rejects.toMatchObject({ code: 'IM001' });
  await expect(write(urlWithEpoch(database.url, 1))).resolves.toEqual([]);
});

describe('a write that is under way while another daemon takes over', () => {
  test('is finished before the new epoch begins', async () => {
    const store = await bench.freshStore();
    const { url } = store.database;
    const written = Promise.withResolvers<void>();
    const goOn = Promise.withResolvers<void>();
    const writing = store.database.write(async ({ tables }) => {
      await tables
        .insertInto('images')
        .values({
          name: 'node',
          os: 'linux',
          architecture: 'x64',
          numbering: 'date',
          created_at: '2026-01-01',
        })
        .execute();
      written.resolve();
      await goOn.promise;
    });
    await written.promise;
    const taking = acquireLease({ connect: () => connectClient(url) });
    const first = await Promise.race([taking.then(() => 'taken'), waitForLockOnFence(url)]);
    expect(first).toBe('waiting');
    goOn.resolve();
    await writing;
    const lease = await taking;
    expect(lease.epoch).toBe(1);
    expect(await store.catalogue.getImage('node')).toBeDefined();
    await expect(store.events.add({ type: 'late', subject: 'x', data: null })).rejects.toEqual(notActive);
    await lease.release();
  });

  test('is undone when its process hangs', async () => {
    const url = await bench.freshDatabase();
    const frozen = await connectClient(url, { 'imago.epoch': '0' });
    await frozen.query('begin');
    await frozen.query("insert into imago.events (type, subject, data) values ('late', 'x', 'null')");
    const lease = await acquireLease({ connect: () => connectClient(url) });
    expect(lease.epoch).toBe(1);
    await expect(frozen.query('commit')).rejects.toThrow();
    expect(await administer(url, 'select * from imago.events')).toEqual([]);
    await lease.release();
    await frozen.end().catch(() => undefined);
  });
});

async function waitForLockOnFence(url: string): Promise<'waiting'> {
  for (;;) {
    const waiting = await administer(
      url,
      "select from pg_locks where locktype = 'advisory' and objid = 3 and not granted",
    );
    if (waiting.length > 0) return 'waiting';
  }
}

describe('what is kept for ever', () => {
  let store: Store;

  beforeAll(async () => {
    store = await bench.freshStore();
    const [to = ''] = await seedImage(store, 'node', 1);
    await store.catalogue.moveChannel({ image: 'node', channel: 'production', to, by: 'me', why: 'first' });
    await store.audit.add({ who: 'me', what: 'x', subject: 'x', requestId: '1', status: 200 });
    await administer(
      store.database.url,
      'alter table imago.channels drop constraint channels_image_version_fkey',
    );
  });

  test.each([
    ['channel_moves', "update imago.channel_moves set why = 'other'"],
    ['channel_moves', 'delete from imago.channel_moves'],
    ['channel_moves', 'truncate imago.channel_moves'],
    ['audit', "update imago.audit set who = 'other'"],
    ['audit', 'delete from imago.audit'],
    ['evidence', 'update imago.evidence set passed = false'],
    ['evidence', 'delete from imago.evidence'],
    ['numbers', 'delete from imago.numbers'],
    ['numbers', "update imago.numbers set number = '9.9.9'"],
    ['numbers', "update imago.numbers set digest = 'other'"],
    ['versions', "update imago.versions set digest = 'other'"],
    ['versions', "update imago.versions set origin = '{}'"],
    ['versions', 'delete from imago.versions'],
  ])('in %s cannot be changed by: %s', async (table, statement) => {
    const { url } = store.database;
    const before = await administer(url, `select * from imago.${table}`);
    expect(before.length).toBeGreaterThan(0);
    await expect(administer(urlWithEpoch(url, 0), statement)).rejects.toMatchObject({ code: 'IM002' });
    expect(await administer(url, `select * from imago.${table}`)).toEqual(before);
  });
});
