// Migrations: from every earlier state, by two at once, through a crash, and never backwards.
import { createHash } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { connectClient } from '../../src/database/connection/connection.ts';
import { migrations } from '../../src/database/migrations/all.ts';
import { migrate } from '../../src/database/migrations/migrate.ts';
import type { Migration } from '../../src/database/migrations/migration.ts';
import { openStore } from '../../src/database/open-database.ts';
import { startPostgres, type TestPostgres } from '../support/postgres.ts';
import { administer, cutConnections, seedImage } from '../support/store.ts';
import { typicalRows } from '../support/typical-rows.ts';

let postgres: TestPostgres;

beforeAll(async () => {
  postgres = await startPostgres();
});

afterAll(() => postgres.stop());

async function fillState(url: string, upTo: number): Promise<void> {
  const client = await connectClient(url, { 'imago.epoch': '0' });
  for (let number = 1; number <= upTo; number += 1) await client.query(typicalRows[number] ?? '');
  await client.end();
}

async function countRows(url: string): Promise<Record<string, number>> {
  const tables = await administer<{ name: string }>(
    url,
    "select tablename as name from pg_tables where schemaname = 'imago' and tablename <> 'migrations' order by 1",
  );
  const counts: Record<string, number> = {};
  for (const { name } of tables) {
    const [row] = await administer<{ count: number }>(url, `select count(*) from imago.${name}`);
    counts[name] = row?.count ?? 0;
  }
  return counts;
}

describe('from every earlier state', () => {
  test('every migration has typical rows', () => {
    expect(Object.keys(typicalRows).map(Number)).toEqual(migrations.map(({ number }) => number));
  });

  test.each([0, ...migrations.map(({ number }) => number)])(
    'after migration %i, filled, to the newest: every row is kept and the store works',
    async (upTo) => {
      const url = await postgres.freshDatabase();
      await migrate({ url, epoch: 0, migrations: migrations.slice(0, upTo) });
      await fillState(url, upTo);
      const before = await countRows(url);
      expect(await migrate({ url, epoch: 0 })).toEqual({ from: upTo, to: migrations.length });
      expect(await countRows(url)).toMatchObject(before);
      expect(await migrate({ url, epoch: 0 })).toEqual({ from: migrations.length, to: migrations.length });
      const store = openStore({ url, epoch: 0 });
      await seedImage(store, 'another', 2);
      expect(await store.catalogue.resolve('another:latest')).toMatchObject({ version: '1.0.1' });
      await store.close();
    },
  );
});

test('an image is marked as simulated unless every build of it is known to be real', async () => {
  const url = await postgres.freshDatabase();
  await migrate({ url, epoch: 0, migrations: migrations.slice(0, 12) });
  const images: readonly (readonly [name: string, origin: string, operation: string])[] = [
    ['real', 'built', 'real'],
    ['simulated', 'built', 'simulated'],
    ['pruned', 'built', 'pruned'],
    ['pruned-import', 'imported', 'pruned'],
    ['running', 'built', 'running'],
  ];
  const client = await connectClient(url, { 'imago.epoch': '0' });
  await client.query(`insert into imago.operations
      (id, kind, subject, requested_by, key, input, state, created_at, result)
    values ('real', 'build', 's', 'ann', 'k', '{}', 'succeeded', now(), '{"version":"1.0.0"}'),
      ('simulated', 'build', 's', 'ann', 'k', '{}', 'succeeded', now(), '{"simulated":true}'),
      ('running', 'build', 's', 'ann', 'k', '{}', 'running', now(), null)`);
  for (const [name, kind, operation] of images) {
    const digest = `sha256:${name}`;
    await client.query("insert into imago.images values ($1, 'linux', 'x64', 'semver', now())", [name]);
    await client.query("insert into imago.numbers values ($1, '1.0.0', $2, true, $3, now())", [
      ...[name, operation, digest],
    ]);
    await client.query(
      `insert into imago.versions
        (image, version, digest, disk_digest, size_bytes, state, origin, operation, created_at)
      values ($1, '1.0.0', $3, $3, 5, 'available', $2, $4, now())`,
      [name, JSON.stringify({ kind }), digest, operation],
    );
  }
  await client.end();
  await migrate({ url, epoch: 0 });
  const marked = await administer<{ image: string }>(
    url,
    `select v.image from imago.versions v join imago.images i on i.name = v.image
      where v.simulated and i.simulated order by 1`,
  );
  expect(marked.map(({ image }) => image)).toEqual(['pruned', 'running', 'simulated']);
});

test('migrations are numbered from 1 without gaps, and released ones never change', () => {
  expect(migrations.map(({ number }) => number)).toEqual(migrations.map((_, index) => index + 1));
  const sums = migrations.map(({ sql }) => createHash('sha256').update(sql).digest('hex').slice(0, 16));
  expect(sums).toMatchInlineSnapshot(`
    [
      "421953b266a51c0b",
      "381c1e6096b410d3",
      "f3fa8b8201921f9d",
      "d738ec08f73a7b14",
      "b0f97a47d6701f83",
      "a4a8452fe14adfe3",
      "48f6e0da52b1d6d7",
      "9b331a19b6abf09f",
      "97e1d4193788e681",
      "3e4c1d942e433610",
      "575fa4e8d45cf805",
      "f675f15dae4ea33c",
      "cb678e49c179f9fc",
      "3029cb6daf574c9d",
      "64e5fed482527f88",
      "0b99c168b92b4477",
      "0130ea74a97e4d15",
      "ba59063243792a4b",
      "e0dd88817220fbc7",
      "a1d8a2f967767952",
    ]
  `);
});

test('two that migrate at once: one does the work, the other finds it done', async () => {
  const url = await postgres.freshDatabase();
  const reports = await Promise.all(Array.from({ length: 4 }, () => migrate({ url, epoch: 0 })));
  expect(reports.filter(({ from }) => from === 0)).toHaveLength(1);
  expect(reports.every(({ to }) => to === migrations.length)).toBe(true);
});

describe('a migration that does not come to its end', () => {
  const broken: Migration = {
    number: migrations.length + 1,
    name: 'broken',
    sql: 'create table imago.half (id integer); drop table imago.events cascade; select 1 / 0',
  };
  const slow: Migration = {
    number: migrations.length + 1,
    name: 'slow',
    sql: 'create table imago.half (id integer); select pg_sleep(60)',
  };

  async function expectUnchanged(url: string): Promise<void> {
    const tables = await administer(
      url,
      "select from pg_tables where schemaname = 'imago' and tablename = 'half'",
    );
    expect(tables).toEqual([]);
    expect(await migrate({ url, epoch: 0 })).toEqual({ from: migrations.length, to: migrations.length });
  }

  test('leaves nothing behind when it fails', async () => {
    const url = await postgres.freshDatabase();
    await migrate({ url, epoch: 0 });
    const failing = migrate({ url, epoch: 0, migrations: [...migrations, broken] });
    await expect(failing).rejects.toThrow('division by zero');
    await expectUnchanged(url);
  });

  test('leaves nothing behind when its process or its connection dies', async () => {
    const url = await postgres.freshDatabase();
    await migrate({ url, epoch: 0 });
    const dying = migrate({ url, epoch: 0, migrations: [...migrations, slow] });
    const died = expect(dying).rejects.toMatchObject({ code: 'database-unreachable' });
    while ((await cutConnections(url, "query like '%pg_sleep(60)%'")) === 0);
    await died;
    await expectUnchanged(url);
  });

  test('leaves nothing behind when the database is killed', async () => {
    const url = await postgres.freshDatabase();
    await migrate({ url, epoch: 0 });
    const dying = migrate({ url, epoch: 0, migrations: [...migrations, slow] });
    const died = expect(dying).rejects.toMatchObject({ code: 'database-unreachable' });
    const running =
      "select from pg_stat_activity where query like '%pg_sleep(60)%' and pid <> pg_backend_pid()";
    while ((await administer(url, running)).length === 0);
    await postgres.kill();
    await died;
    await postgres.start();
    await expectUnchanged(url);
  });
});

describe('a database of another version of Imago', () => {
  const newer: Migration = { number: migrations.length + 1, name: 'from-the-future', sql: 'select 1' };

  test('that is newer is refused, with the reason', async () => {
    const url = await postgres.freshDatabase();
    await migrate({ url, epoch: 0, migrations: [...migrations, newer] });
    await expect(migrate({ url, epoch: 0 })).rejects.toMatchObject({
      code: 'database-version',
      message: expect.stringContaining('from-the-future'),
    });
  });

  test('whose history differs is refused', async () => {
    const url = await postgres.freshDatabase();
    await migrate({ url, epoch: 0 });
    const [first, ...others] = migrations;
    const altered = [{ ...(first ?? newer), sql: 'select 2' }, ...others];
    await expect(migrate({ url, epoch: 0, migrations: altered })).rejects.toMatchObject({
      code: 'database-version',
    });
  });
});

test('a database that cannot hold all texts is refused before anything is made', async () => {
  const admin = postgres.url('postgres');
  await administer(admin, "create database narrow encoding 'LATIN1' locale 'C' template template0");
  const url = postgres.url('narrow');
  await expect(migrate({ url, epoch: 0 })).rejects.toMatchObject({
    code: 'database-refused',
    message: expect.stringContaining('LATIN1'),
    hint: expect.stringContaining('UTF8'),
  });
  expect(await administer(url, "select from pg_namespace where nspname = 'imago'")).toEqual([]);
});

test('a daemon that is not the active one does not touch the schema', async () => {
  const url = await postgres.freshDatabase();
  await migrate({ url, epoch: 0, migrations: migrations.slice(0, 1) });
  await administer(url, 'update imago.lease set epoch = 7');
  await expect(migrate({ url, epoch: 6 })).rejects.toMatchObject({ code: 'owner-stale' });
  expect(await migrate({ url, epoch: 7 })).toEqual({ from: 1, to: migrations.length });
});
