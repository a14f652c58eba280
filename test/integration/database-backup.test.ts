// Backup and restore carry everything to another database, or change nothing.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { gunzipSync, gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { backup } from '../../src/database/backup/backup.ts';
import { restore } from '../../src/database/backup/restore.ts';
import { readTables, tableName } from '../../src/database/backup/tables.ts';
import { connectClient } from '../../src/database/connection/connection.ts';
import { acquireLease } from '../../src/database/lease/lease.ts';
import { migrations } from '../../src/database/migrations/all.ts';
import { migrate } from '../../src/database/migrations/migrate.ts';
import type { Store } from '../../src/database/open-database.ts';
import { createDbosEngine } from '../../src/workflow/engine/dbos/engine.ts';
import { startPostgres, type TestPostgres } from '../support/postgres.ts';
import { administer, digestOf, type StoreBench, seedImage, startStoreBench } from '../support/store.ts';
import { typicalRows } from '../support/typical-rows.ts';
import { until } from '../support/until.ts';

let bench: StoreBench;
let elsewhere: TestPostgres;
let folder: string;

beforeAll(async () => {
  [bench, elsewhere] = await Promise.all([startStoreBench(), startPostgres()]);
  folder = mkdtempSync(join(tmpdir(), 'imago-backup-'));
});

afterAll(async () => {
  rmSync(folder, { recursive: true, force: true });
  await Promise.all([bench.stop(), elsewhere.stop()]);
});

async function backupOf(url: string): Promise<Buffer> {
  return buffer(Readable.from(backup({ url })));
}

function headerOf(bytes: Buffer) {
  return JSON.parse(gunzipSync(bytes).toString().split('\n')[0] ?? '');
}

/** Columns, constraints, indexes and triggers with their state, as the server prints them. */
const definitions = `
  select format('%s %s %s %s', attrelid::regclass, attname, format_type(atttypid, atttypmod), attnotnull) as line
  from pg_attribute join pg_class c on c.oid = attrelid
  where c.relkind = 'r' and attnum > 0 and c.relnamespace = 'imago'::regnamespace
  union all select format('%s %s %s', conrelid::regclass, conname, pg_get_constraintdef(oid)) from pg_constraint
  where connamespace = 'imago'::regnamespace
  union all select pg_get_indexdef(indexrelid) from pg_index join pg_class c on c.oid = indexrelid
  where c.relnamespace = 'imago'::regnamespace
  union all select format('%s %s', tgenabled, pg_get_triggerdef(t.oid)) from pg_trigger t
  join pg_class c on c.oid = tgrelid where not tgisinternal and c.relnamespace = 'imago'::regnamespace
  union all select pg_get_functiondef(oid) from pg_proc where pronamespace = 'imago'::regnamespace
  order by 1`;

/** Everything but the lease: the definitions of all tables, every row, and the rights on tables. */
async function contentOf(
  url: string,
): Promise<{ definitions: unknown; rights: unknown; rows: Record<string, string[]> }> {
  const client = await connectClient(url, { search_path: '' });
  const rows: Record<string, string[]> = {};
  for (const table of await readTables(client)) {
    const found = await client.query<{ row: string }>(
      `select t::text as row from ${tableName(table)} t order by t::text`,
    );
    rows[tableName(table)] = found.rows.map(({ row }) => row);
  }
  const found = await client.query<{ line: string }>(definitions);
  const { rows: rights } = await client.query(
    `select c.oid::regclass::text as name from pg_class c, aclexplode(c.relacl) as given
     where c.relnamespace = 'imago'::regnamespace and given.grantee <> c.relowner`,
  );
  const { rows: roles } = await client.query(
    "select rolname from pg_roles where rolname like 'imago_restore_%'",
  );
  await client.end();
  return { definitions: found.rows.map(({ line }) => line), rights: [rights, roles], rows };
}

/** Creates the engine's tables, as the daemon that restores has done before. */
async function startEngineOnce(url: string): Promise<void> {
  const { calls } = await bench.freshStore({ url });
  const engine = createDbosEngine({ databaseUrl: url, calls, signal: new AbortController().signal });
  await engine.start(async () => undefined);
  await engine.stop();
}

async function filled(): Promise<Store> {
  const store = await bench.freshStore();
  const { catalogue, fleet, journal, calls, tokens, audit, idempotency, schedules } = store;
  const [version = ''] = await seedImage(store, 'node', 3);
  await catalogue.moveChannel({
    image: 'node',
    channel: 'production',
    to: version,
    by: 'ann',
    why: '"quoted", ünï\n',
  });
  const made = { image: 'node', version, digest: digestOf(1), reference: 'node:production', move: 1 };
  const settings = {
    provider: 'sim',
    orchestration: 'flexible',
    size: '',
    nodeConfig: 'a: "\\x"\n\t',
  } as const;
  await fleet.addPool({ ...settings, ...made, name: 'web', follows: 'production' });
  const nodes = Array.from({ length: 1_100 }, (_, index) => ({
    ...made,
    name: `web-${index}`,
    pool: 'web',
    machineId: `m${index}`,
    at: new Date(1_700_000_000_000 + index).toISOString(),
  }));
  await fleet.recordNodes(nodes);
  await fleet.markGone(
    'web',
    new Set(nodes.slice(10).map(({ machineId }) => machineId)),
    '2026-01-01T00:00:00.000Z',
  );
  const request = { id: 'op', kind: 'build', subject: 'image/node', by: 'ann', steps: ['one', 'two'] };
  await journal.create({ ...request, input: { z: ['\0', '\ud800', '🙂'], a: null } }, 0);
  await journal.update('op', { state: 'running', result: null });
  await calls.add('op', { place: 0, name: 'do:one', value: { z: ['\0', '\ud800'], a: null } });
  await journal.log('op', 0, ['', 'line', '🙂', '\\N', '{"a":1}']);
  await tokens.create('ann', 'admin', '2999-12-31T23:59:59.999Z');
  await audit.add({ who: 'ann', what: 'x', subject: '', before: null, requestId: '', status: 200 });
  await idempotency.claim('k', 'ann', 'f');
  await store.database.write(({ tables }) =>
    tables.insertInto('spent_keys').values({ hash: '01234567-89ab-cdef-0123-456789abcdef' }).execute(),
  );
  await schedules.create({
    name: 's',
    cron: '* * * * *',
    timeZone: 'UTC',
    kind: 'k',
    subject: 's',
    input: 1,
    by: 'b',
  });
  await fillLater(store.database.url);
  return store;
}

/** What came with migrations that the store above has no short words for. */
async function fillLater(url: string): Promise<void> {
  const client = await connectClient(url, { 'imago.epoch': '0' });
  for (const number of [6, 7, 8, 9, 11, 16, 17]) await client.query(typicalRows[number] ?? '');
  await client.end();
}

test('every table, index, trigger and row comes out in another server, and work goes on there', async () => {
  const store = await filled();
  const before = await contentOf(store.database.url);
  const bytes = await backupOf(store.database.url);
  const url = await elsewhere.freshDatabase();
  const lease = await acquireLease({ connect: () => connectClient(url) });
  const restored = await restore({ url, epoch: lease.epoch }, Readable.from([bytes]));
  expect(restored).toEqual({
    tables: Object.keys(before.rows).length,
    rows: Object.values(before.rows).flat().length,
    files: [],
    missingDisks: [],
    from: migrations.length,
    to: migrations.length,
  });
  const after = await contentOf(url);
  expect(after).toEqual(before);
  expect(Object.values(after.rows).every((rows) => rows.length > 0)).toBe(true);
  await lease.release();

  const next = await acquireLease({ connect: () => connectClient(url) });
  const there = await bench.freshStore({ url, epoch: next.epoch, signal: next.signal });
  const numbers = await seedImage(there, 'node', 1);
  expect(numbers).toEqual(['1.0.3']);
  await there.journal.update('op', { state: 'succeeded' });
  expect(await there.events.last()).toBeGreaterThan(await store.events.last());
  await expect(store.events.add({ type: 'x', subject: 's', data: null })).resolves.toBeUndefined();
  await next.release();
});

test('versions whose disk is not here are marked, and those whose disk is here or was elsewhere are not', async () => {
  const store = await bench.freshStore();
  const [first = '', second = '', third = ''] = await seedImage(store, 'node', 3);
  const digests = new Map<string, string>();
  for (const version of [first, second, third]) {
    digests.set(version, (await store.catalogue.getVersion('node', version))?.digest ?? '');
  }
  const disks = [first, second].map((version) => digests.get(version) ?? '');
  const bytes = await buffer(Readable.from(backup(store.database, { disks })));
  const there = await bench.freshStore();
  const here = new Set([digests.get(second) ?? '']);
  for (const dryRun of [true, false]) {
    const restored = await restore(there.database, Readable.from([bytes]), { disks: here, dryRun });
    expect(restored.missingDisks).toEqual([`node:${first}`]);
  }
  const { items } = await there.problems.list({ limit: 10 });
  expect(items).toMatchObject([{ kind: 'disk-missing', subject: `version/node:${first}`, count: 1 }]);
});

test('epochs go on from the greater of the two databases', async () => {
  const store = await filled();
  const { url } = store.database;
  await administer(url, 'update imago.lease set epoch = 41');
  const bytes = await backupOf(url);
  for (const [there, expected] of [
    [3, 42],
    [77, 78],
  ]) {
    const target = await bench.freshDatabase();
    await administer(target, `update imago.lease set epoch = ${there}`);
    await restore({ url: target, epoch: there ?? 0 }, Readable.from([bytes]));
    const lease = await acquireLease({ connect: () => connectClient(target) });
    expect(lease.epoch).toBe(expected);
    await lease.release();
  }
});

test('an operation that is half-way goes on in the other database; what was done is not done again', async () => {
  const url = await bench.postgres.freshDatabase();
  const target = await elsewhere.freshDatabase();
  const work = mkdtempSync(join(folder, 'half-way-'));
  const ledger = join(work, 'ledger');
  const lines = () => (existsSync(ledger) ? readFileSync(ledger, 'utf8').trim().split('\n') : []);
  const run = (database: string) =>
    spawn(process.execPath, [join(import.meta.dirname, '../support/half-way.ts'), database, ledger], {
      stdio: ['ignore', 'ignore', 'inherit'],
    });

  const first = run(url);
  const died = once(first, 'exit');
  await until('step four begins', () => lines().includes('four begins') || first.exitCode !== null);
  first.kill('SIGKILL');
  await died;
  const bytes = await backupOf(url);

  const lease = await acquireLease({ connect: () => connectClient(target) });
  await startEngineOnce(target);
  await restore({ url: target, epoch: lease.epoch }, Readable.from([bytes]));
  await lease.release();
  expect((await contentOf(target)).rows).toEqual((await contentOf(url)).rows);
  writeFileSync(join(work, 'go'), '');
  const [code] = await once(run(target), 'exit');
  expect(code).toBe(0);
  expect(lines()).toEqual([
    ...['one', 'two', 'three'].flatMap((name) => [`${name} begins`, `${name} done`]),
    'four begins',
    ...['four', 'five', 'six'].flatMap((name) => [`${name} begins`, `${name} done`]),
  ]);
  const [operation] = await administer(target, 'select state from imago.operations');
  expect(operation).toEqual({ state: 'succeeded' });
});

test('what a daemon writes by starting does not stand in the way', async () => {
  const bytes = await backupOf((await filled()).database.url);
  const fresh = await bench.freshStore();
  const { url } = fresh.database;
  await fresh.tokens.create('ann', 'admin', '2999-01-01T00:00:00.000Z');
  await fresh.audit.add({ who: 'ann', what: 'restore', subject: 'database', requestId: 'r', status: 200 });
  await fresh.idempotency.claim('key', 'ann', 'f');
  await fresh.events.add({ type: 'x', subject: 's', data: null });
  await fresh.lifecycle.samples.record('sim', 'versions', '2026-11-16', 0, 1000);
  await startEngineOnce(url);
  const dry = await restore(fresh.database, Readable.from([bytes]), { dryRun: true });
  expect(await fresh.catalogue.getImage('node')).toBeUndefined();
  expect(await restore(fresh.database, Readable.from([bytes]))).toEqual(dry);
  expect(await fresh.catalogue.getImage('node')).toBeDefined();
});

test('a backup is of one moment, however much is written meanwhile', async () => {
  const store = await filled();
  let stop = false;
  const writing = (async () => {
    for (let index = 0; !stop; index += 1) {
      const id = `late-${index}`;
      await store.journal.create(
        { id, kind: 'k', subject: id, by: 'b', input: null, steps: ['one', 'two', 'three'] },
        0,
      );
    }
  })();
  const bytes = await backupOf(store.database.url);
  stop = true;
  await writing;
  const target = await bench.freshDatabase();
  await restore({ url: target, epoch: 0 }, Readable.from([bytes]));
  const [counts] = await administer<{ operations: number; steps: number }>(
    target,
    `select (select count(*) from imago.operations where id like 'late%') as operations,
       (select count(*) from imago.steps where operation like 'late%') as steps`,
  );
  expect(counts?.steps).toBe((counts?.operations ?? 0) * 3);
});

describe('a backup of an older Imago', () => {
  test.each(migrations.map(({ number }) => number))(
    'with %i migrations is brought to the newest',
    async (upTo) => {
      const url = await bench.postgres.freshDatabase();
      await migrate({ url, epoch: 0, migrations: migrations.slice(0, upTo) });
      const client = await connectClient(url, { 'imago.epoch': '0' });
      await client.query("select imago.add_event('x', 's', 'null')");
      await client.end();
      const bytes = await backupOf(url);
      expect(headerOf(bytes).schema).toBe(upTo);
      const target = await bench.postgres.freshDatabase();
      await migrate({ url: target, epoch: 0, migrations: [] });
      const restored = await restore({ url: target, epoch: 0 }, Readable.from([bytes]));
      expect(restored).toMatchObject({ from: upTo, to: migrations.length, rows: 1 });
      const fresh = await bench.freshDatabase();
      expect((await contentOf(target)).definitions).toEqual((await contentOf(fresh)).definitions);
      expect(await migrate({ url: target, epoch: 0 })).toEqual({
        from: migrations.length,
        to: migrations.length,
      });
    },
  );
});

describe('what is refused changes nothing', () => {
  let whole: Buffer;
  let lines: string[];
  let target: string;
  let before: unknown;

  beforeAll(async () => {
    whole = await backupOf((await filled()).database.url);
    lines = gunzipSync(whole).toString().trimEnd().split('\n');
    target = await bench.freshDatabase();
    before = await contentOf(target);
  });

  async function expectRefused(bytes: Buffer, code: string): Promise<void> {
    await expect(restore({ url: target, epoch: 0 }, Readable.from([bytes]))).rejects.toMatchObject({ code });
    expect(await contentOf(target)).toEqual(before);
  }

  const packed = (text: readonly string[]) => gzipSync(`${text.join('\n')}\n`);

  test('a file that is cut short, anywhere', async () => {
    for (const part of [0, 0.001, 0.1, 0.5, 0.9, 0.999]) {
      await expectRefused(whole.subarray(0, Math.floor(whole.length * part)), 'backup-invalid');
    }
    await expectRefused(whole.subarray(0, whole.length - 1), 'backup-invalid');
    for (const count of [1, 2, Math.floor(lines.length / 2), lines.length - 1]) {
      await expectRefused(packed(lines.slice(0, count)), 'backup-invalid');
    }
  });

  test('a file in which a row was left out, added or has values of another table', async () => {
    const row = lines.findIndex((line) => line.includes('web-7'));
    expect(row).toBeGreaterThan(0);
    await expectRefused(packed(lines.toSpliced(row, 1)), 'backup-invalid');
    await expectRefused(packed(lines.toSpliced(row, 0, lines[row] ?? '')), 'backup-invalid');
    await expectRefused(packed(lines.with(row, lines[1] ?? '')), 'backup-invalid');
    await expectRefused(packed([...lines, '[]']), 'backup-invalid');
  });

  test('a file that is something else', async () => {
    for (const text of ['', 'hello', '{}', '[]', 'null', '{"schema":1}']) {
      await expectRefused(packed([text]), 'backup-invalid');
      await expectRefused(Buffer.from(text), 'backup-invalid');
    }
  });

  test('a backup of a newer Imago or engine', async () => {
    const header = JSON.parse(lines[0] ?? '');
    await expectRefused(packed(lines.with(0, JSON.stringify({ ...header, schema: 99 }))), 'database-version');
    await expectRefused(
      packed(lines.with(0, JSON.stringify({ ...header, engine: 999 }))),
      'database-version',
    );
  });

  test('a database that holds something', async () => {
    const { database } = await filled();
    const held = await contentOf(database.url);
    await expect(restore(database, Readable.from([whole]))).rejects.toMatchObject({
      code: 'restore-not-empty',
    });
    expect(await contentOf(database.url)).toEqual(held);
  });

  test("a database in which another program uses the engine's tables", async () => {
    const made = 'create schema dbos; create table dbos.workflow_status (id text)';
    const { database } = await filled();
    await administer(database.url, made);
    const bytes = await backupOf(database.url);
    const url = await bench.freshDatabase();
    await administer(url, `${made}; insert into dbos.workflow_status values ('theirs')`);
    await expect(restore({ url, epoch: 0 }, Readable.from([bytes]))).rejects.toMatchObject({
      code: 'restore-not-empty',
    });
    expect(await administer(url, 'select * from dbos.workflow_status')).toEqual([{ id: 'theirs' }]);
  });

  test('a process that is not the active one', async () => {
    const url = await bench.freshDatabase();
    await administer(url, 'update imago.lease set epoch = 5');
    await expect(restore({ url, epoch: 4 }, Readable.from([whole]))).rejects.toMatchObject({
      code: 'owner-stale',
    });
  });
});

test('a backup of a database that is unreachable fails', async () => {
  const nowhere = 'postgresql://imago@localhost/imago?host=%2Fnonexistent';
  await expect(backupOf(nowhere)).rejects.toMatchObject({ code: 'database-unreachable' });
});

describe('a database user that is not a superuser', () => {
  async function ownedBy(user: string, attributes: string): Promise<string> {
    await administer(await bench.postgres.freshDatabase(), `create role ${user} login ${attributes}`);
    const url = new URL(await bench.postgres.freshDatabase());
    await administer(url.href, `alter database ${url.pathname.slice(1)} owner to ${user}`);
    url.username = user;
    await migrate({ url: url.href, epoch: 0 });
    return url.href;
  }

  test('restores with a role that it creates, and leaves no role behind', async () => {
    const store = await filled();
    const url = await ownedBy('maker', 'createrole');
    await restore({ url, epoch: 0 }, Readable.from([await backupOf(store.database.url)]));
    const { rows, rights } = await contentOf(url);
    expect(rows).toEqual((await contentOf(store.database.url)).rows);
    expect(rights).toEqual([[], []]);
  });

  test('restores with the role that an administrator made, and reports how if there is none', async () => {
    const bytes = await backupOf((await filled()).database.url);
    const url = await ownedBy('plain', '');
    const before = await contentOf(url);
    await expect(restore({ url, epoch: 0 }, Readable.from([bytes]))).rejects.toMatchObject({
      code: 'database-refused',
      hint: expect.stringContaining('create role imago_restore nologin; grant imago_restore to "plain"'),
    });
    expect(await contentOf(url)).toEqual(before);
    await administer(
      await bench.postgres.freshDatabase(),
      'create role imago_restore nologin; grant imago_restore to plain',
    );
    await restore({ url, epoch: 0 }, Readable.from([bytes]));
    expect((await contentOf(url)).rows['"imago"."images"']).toHaveLength(1);
  });
});
