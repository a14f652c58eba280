// Backup and restore carry everything to another database, or change nothing.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough, Readable, Writable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { gunzipSync, gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type BackupSummary, backup } from '../../src/database/backup/backup.ts';
import { readDefinitions, tableName } from '../../src/database/backup/definitions.ts';
import { restore } from '../../src/database/backup/restore.ts';
import { connectClient } from '../../src/database/connection/connection.ts';
import { acquireLease } from '../../src/database/lease/lease.ts';
import { migrations } from '../../src/database/migrations/all.ts';
import { migrate } from '../../src/database/migrations/migrate.ts';
import type { Store } from '../../src/database/open-database.ts';
import { createDbosEngine } from '../../src/workflow/engine/dbos/engine.ts';
import { startPostgres, type TestPostgres } from '../support/postgres.ts';
import { administer, digestOf, type StoreBench, seedImage, startStoreBench } from '../support/store.ts';
import { typicalRows } from '../support/typical-rows.ts';

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

async function backupOf(url: string): Promise<{ bytes: Buffer; summary: BackupSummary }> {
  const target = new PassThrough();
  const bytes = buffer(target);
  const summary = await backup({ url }, target);
  return { bytes: await bytes, summary };
}

/** Everything but who is active: the definitions of all tables, and every row of each. */
async function contentOf(
  url: string,
  schemas: readonly string[] = ['imago', 'dbos'],
): Promise<{ definitions: unknown; rows: Record<string, string[]> }> {
  const client = await connectClient(url, { search_path: '' });
  const definitions = await readDefinitions(client, schemas);
  const rows: Record<string, string[]> = {};
  for (const table of definitions.tables) {
    const found = await client.query<{ row: string }>(
      `select t::text as row from ${tableName(table)} t order by t::text`,
    );
    rows[tableName(table)] = found.rows.map(({ row }) => row);
  }
  await client.end();
  return { definitions, rows };
}

async function filled(): Promise<Store> {
  const store = await bench.freshStore();
  const { catalogue, fleet, journal, tokens, audit, idempotency, schedules } = store;
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
  await journal.log('op', 0, ['', 'line', '🙂', '\\N', '{"a":1}']);
  await tokens.create('ann', 'admin', '2999-12-31T23:59:59.999Z');
  await audit.add({ who: 'ann', what: 'x', subject: '', before: null, requestId: '', status: 200 });
  await idempotency.claim('k', 'ann', 'f');
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
  for (const number of [6, 7, 8, 9]) await client.query(typicalRows[number] ?? '');
  await client.end();
}

test('every table, index, trigger and row comes out in another server, and work goes on there', async () => {
  const store = await filled();
  const before = await contentOf(store.database.url);
  const { bytes, summary } = await backupOf(store.database.url);
  const url = await elsewhere.freshDatabase();
  const lease = await acquireLease({ connect: () => connectClient(url) });
  const restored = await restore({ url, epoch: lease.epoch }, Readable.from([bytes]));
  expect(restored).toEqual({
    tables: summary.tables,
    rows: summary.rows,
    createdAt: summary.createdAt,
    from: migrations.length,
    to: migrations.length,
  });
  const after = await contentOf(url);
  expect(after).toEqual(before);
  expect(Object.values(after.rows).every((rows) => rows.length > 0)).toBe(true);
  expect(summary.rows).toBe(Object.values(before.rows).flat().length);
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

test('epochs go on from the greater of the two databases', async () => {
  const store = await filled();
  const { url } = store.database;
  await administer(url, 'update imago.lease set epoch = 41');
  const { bytes } = await backupOf(url);
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
  while (!lines().includes('four begins') && first.exitCode === null) await sleep(20);
  first.kill('SIGKILL');
  await died;
  const { bytes } = await backupOf(url);

  const lease = await acquireLease({ connect: () => connectClient(target) });
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
  const { bytes } = await backupOf((await filled()).database.url);
  const fresh = await bench.freshStore();
  const { url } = fresh.database;
  await fresh.tokens.create('ann', 'admin', '2999-01-01T00:00:00.000Z');
  await fresh.audit.add({ who: 'ann', what: 'restore', subject: 'database', requestId: 'r', status: 200 });
  await fresh.idempotency.claim('key', 'ann', 'f');
  await fresh.events.add({ type: 'x', subject: 's', data: null });
  const engine = createDbosEngine({ databaseUrl: url, signal: new AbortController().signal });
  await engine.start(async () => undefined);
  await engine.stop();
  const dry = await restore(fresh.database, Readable.from([bytes]), { dryRun: true });
  expect(await fresh.catalogue.getImage('node')).toBeUndefined();
  expect(await restore(fresh.database, Readable.from([bytes]))).toEqual(dry);
  expect(await fresh.catalogue.getImage('node')).toBeDefined();
});

test('a schema that is not ours is carried with all it has, without being known', async () => {
  const { database } = await filled();
  await administer(
    database.url,
    `create schema "Odd one";
     set search_path = "Odd one";
     create type mood as enum ('so', 'la la', 'it''s');
     create function twice(n integer) returns integer immutable language sql as 'select n * 2';
     create table "Table 1" (
       id serial primary key, other bigint generated by default as identity (start 100 increment 5),
       mood mood default 'la la', twice integer generated always as ("Odd one".twice(2)) stored, "when" interval,
       words text[] collate "C", raw bytea, big numeric(40, 10), small real, day date, ok boolean, doc jsonb,
       check (other > 0), unique (mood, id));
     create table child (parent integer references "Table 1" on delete cascade deferrable, n smallint);
     create index "by day" on "Table 1" (day desc nulls last) include (ok) where ok;
     create sequence counter minvalue -5 start -5 cycle;
     create function note() returns trigger language plpgsql as 'begin new.n := 7; return new; end';
     create trigger noted before insert on child for each row when (new.n is null) execute function note();
     insert into "Table 1" ("when", words, raw, big, small, day, ok, doc) values
       ('1 year 2 mons -3 days 04:05:06.789', '{"a,b",NULL,"x y"}', '\\x00ff', 12345678901234567890.0123456789,
        0.1, '4713-01-01 BC', true, '{"a": [1, null]}'), (null, '{}', '', 'NaN', 'Infinity', 'infinity', null, 'null');
     insert into child (parent) select id from "Table 1";
     select nextval('counter')`,
  );
  const schemas = ['imago', 'Odd one'];
  const target = new PassThrough();
  const bytes = buffer(target);
  await backup(database, target, { schemas });
  const url = await elsewhere.freshDatabase();
  await migrate({ url, epoch: 0 });
  await restore({ url, epoch: 0 }, Readable.from([await bytes]));
  const before = await contentOf(database.url, schemas);
  expect(before.rows['"Odd one"."Table 1"']).toHaveLength(2);
  expect(await contentOf(url, schemas)).toEqual(before);
  await administer(url, `insert into "Odd one"."Table 1" (ok) values (false)`);
  const found = await administer(
    url,
    'select id, other, mood, twice from "Odd one"."Table 1" order by id desc',
  );
  expect(found[0]).toEqual({ id: 3, other: 110, mood: 'la la', twice: 4 });
  expect(await administer(url, `select nextval('"Odd one".counter')::text as next`)).toEqual([
    { next: '-4' },
  ]);
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
  const { bytes } = await backupOf(store.database.url);
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
      const { bytes, summary } = await backupOf(url);
      expect(summary.schemaVersion).toBe(upTo);
      const target = await bench.postgres.freshDatabase();
      await migrate({ url: target, epoch: 0, migrations: [] });
      const restored = await restore({ url: target, epoch: 0 }, Readable.from([bytes]));
      expect(restored).toMatchObject({ from: upTo, to: migrations.length, rows: upTo + 1 });
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
    whole = (await backupOf((await filled()).database.url)).bytes;
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

  test('a file with a flipped bit, anywhere', async () => {
    for (let index = 1; index < 12; index += 1) {
      const damaged = Buffer.from(whole);
      const at = Math.floor((whole.length * index) / 12);
      damaged[at] = (damaged[at] ?? 0) ^ 4;
      await expectRefused(damaged, 'backup-invalid');
    }
  });

  test('a file in which a row was changed, left out, added or moved to another table', async () => {
    const row = lines.findIndex((line) => line.includes('web-7'));
    expect(row).toBeGreaterThan(0);
    const changed = lines.map((line, index) => (index === row ? line.replace('web-7', 'web-x') : line));
    await expectRefused(packed(changed), 'backup-invalid');
    await expectRefused(packed(lines.toSpliced(row, 1)), 'backup-invalid');
    await expectRefused(packed(lines.toSpliced(row, 0, lines[row] ?? '')), 'backup-invalid');
    const table = lines.indexOf(JSON.stringify('"imago"."pools"'));
    await expectRefused(
      packed(lines.toSpliced(table, 1).toSpliced(2, 0, lines[table] ?? '')),
      'backup-invalid',
    );
    await expectRefused(packed([...lines, '[]']), 'backup-invalid');
  });

  test('a file that is something else', async () => {
    for (const text of ['', 'hello', '{}', '[]', 'null', '{"format":"imago-backup"}']) {
      await expectRefused(packed([text]), 'backup-invalid');
      await expectRefused(Buffer.from(text), 'backup-invalid');
    }
  });

  test('a backup of a newer Imago', async () => {
    const header = JSON.parse(lines[0] ?? '');
    await expectRefused(packed([JSON.stringify({ ...header, version: 2 })]), 'database-version');
    await expectRefused(packed([JSON.stringify({ ...header, schemaVersion: 99 })]), 'database-version');
  });

  test('a file that cannot be read to its end', async () => {
    const failing = new Readable({
      read() {
        this.push(whole.subarray(0, 1_000));
        this.destroy(new Error('the disk went away'));
      },
    });
    await expect(restore({ url: target, epoch: 0 }, failing)).rejects.toMatchObject({ code: 'file-missing' });
    expect(readdirSync(tmpdir()).filter((name) => name.startsWith('imago-restore-'))).toEqual([]);
    expect(await contentOf(target)).toEqual(before);
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
    const { bytes } = await backupOf(database.url);
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

describe('a backup that cannot be made says so', () => {
  test('when its target is full', async () => {
    const { database } = await filled();
    const full = new Writable({
      write(_chunk, _encoding, done) {
        done(Object.assign(new Error('ENOSPC: no space left on device, write'), { code: 'ENOSPC' }));
      },
    });
    await expect(backup(database, full)).rejects.toMatchObject({ code: 'no-space' });
  });

  test('when the database goes away', async () => {
    const nowhere = 'postgresql://imago@localhost/imago?host=%2Fnonexistent';
    await expect(backup({ url: nowhere }, new PassThrough())).rejects.toMatchObject({
      code: 'database-unreachable',
    });
  });

  test('when a schema holds what it does not know', async () => {
    const { database } = await filled();
    await administer(database.url, 'create view imago.names as select name from imago.images');
    await expect(backup(database, new PassThrough())).rejects.toThrow('imago.names');
  });
});
