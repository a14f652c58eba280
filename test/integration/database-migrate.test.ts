// Migrations: from every earlier state, by two at once, through a crash, and never backwards.
import { createHash } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { connectClient } from '../../src/store/connection.ts';
import { migrate } from '../../src/store/migrate.ts';
import { migrations } from '../../src/store/migrations/index.ts';
import type { Migration } from '../../src/store/migrations/migration.ts';
import { openStore } from '../../src/store/store.ts';
import { startPostgres, type TestPostgres } from '../support/postgres.ts';
import { administer, cutConnections, seedImage } from '../support/store.ts';

let postgres: TestPostgres;

beforeAll(async () => {
  postgres = await startPostgres();
});

afterAll(() => postgres.stop());

/** Rows as they are typical for the state that each migration leaves. A new migration adds its own. */
const typicalRows: Readonly<Record<number, string>> = {
  1: "insert into imago.events (type, subject, data) values ('operation.state', 'operation/1', '{}')",
  2: `insert into imago.operations (id, kind, subject, requested_by, key, input, state, created_at)
        values ('op', 'build', 'image/node', 'local', 'image/node', '{"recipe": {}}', 'running', now());
      insert into imago.steps (operation, position, name, state, attempts, result)
        values ('op', 0, 'lock', 'done', 1, 'null'), ('op', 1, 'build', 'running', 2, null);
      insert into imago.operation_logs (operation, at, line) values ('op', now(), 'unpacking')`,
  3: `insert into imago.images values ('node', 'linux', 'x64', 'semver', now());
      insert into imago.numbers values ('node', '1.0.0', 'op', true, 'sha256:1', now()), ('node', '1.0.1', 'op2', true, null, now());
      insert into imago.versions
        (image, version, digest, disk_digest, size_bytes, state, origin, lock_digest, operation, created_at)
        values ('node', '1.0.0', 'sha256:1', 'sha256:2', 5, 'available', '{"kind":"built","lockDigest":"l"}', 'l', 'op', now());
      insert into imago.channel_moves (image, channel, to_version, to_digest, moved_by, why, at)
        values ('node', 'latest', '1.0.0', 'sha256:1', 'local', 'tested', now());
      insert into imago.channels values ('node', 'staging', true, false, null, null, null, null),
        ('node', 'latest', false, true, '1.0.0', 'sha256:1', 1, now());
      insert into imago.evidence (digest, kind, passed, summary, details, given_by, at)
        values ('sha256:1', 'test', true, 'booted', '{}', 'local', now())`,
  4: `insert into imago.pools
        values ('web', 'sim', 'uniform', null, 's', 'node:latest', 'latest', 'node', '1.0.0', 'sha256:1', 1, '{}', now());
      insert into imago.nodes (name, pool, machine_id, image, version, digest, reference, channel, move, at, ended_at)
        values ('web-1', 'web', 'm1', 'node', '1.0.0', 'sha256:1', 'node:latest', 'latest', 1, now(), null),
          ('web-2', 'web', 'm2', 'node', '1.0.0', 'sha256:1', 'node:latest', 'latest', 1, now(), now())`,
  5: `insert into imago.tokens (id, owner, role, secret_hash, expires_at)
        values ('t', 'ann', 'viewer', sha256('x'), now() + interval '1 day');
      insert into imago.audit (who, what, subject, request_id, status, entry)
        values ('ann', 'createPool', 'pool/web', 'r', 202, gen_random_uuid());
      insert into imago.idempotency_keys (key, who, fingerprint, epoch, claim)
        values ('k', 'ann', 'f', 0, gen_random_uuid());
      insert into imago.schedules (name, cron, time_zone, kind, subject, input, requested_by)
        values ('nightly', '0 3 * * *', 'Europe/Paris', 'build', 'image/node', '{}', 'ann')`,
  6: `insert into imago.composed_versions values ('sha256:c', 'sha256:1', '{"imago":"0.1.0"}', now());
      insert into imago.evidence (digest, kind, passed, summary, details, given_by, composed, at)
        values ('sha256:1', 'test', true, 'booted', '{}', 'ann', 'sha256:c', now());
      insert into imago.policies (text, content, digest, set_by, why, at)
        values ('version: 1', '{"version":1}', 'sha256:p', 'ann', 'first', now());
      insert into imago.channel_moves (image, channel, to_version, to_digest, moved_by, why, policy, at)
        values ('node', 'production', '1.0.0', 'sha256:1', 'ann', 'good', '{"passed":true,"gates":[]}', now());
      insert into imago.attestations values (1, 'sha256:1', 'https://example.com/move/v1', '{}', now())`,
  7: `insert into imago.withdrawals
        (image, version, reason, with_descendants, effective_at, asked_by, operation, at, applied_at)
        values ('node', '1.0.0', 'broken', true, now(), 'ann', 'op', now(), now());
      insert into imago.withdrawals
        (image, version, cause, reason, with_descendants, effective_at, asked_by, operation, at)
        values ('node', '1.0.1', 1, 'inherited', false, now(), 'ann', 'op', now());
      update imago.withdrawals set lifted_at = now(), lifted_by = 'ann', lifted_why = 'fine' where id = 2;
      insert into imago.holds values ('node', '1.0.0', 'audit', 'ann', now());
      update imago.pools set reference = 'node:1.0.0' where name = 'web';
      insert into imago.support_dates values ('kubernetes', '1.40', '2028-10-28', '', 'ann', now());
      insert into imago.notices values ('support.warning', 'image/node', '90', now());
      insert into imago.limit_samples values ('sim', 'versions', '2026-11-01', 5, 10000)`,
  8: `insert into imago.galleries values
        ('public', 'sim', 'public', 'westeurope', '["production"]', '[{"region":"westeurope","replicas":3}]', true, null, 'ann', now());
      insert into imago.webhooks values
        ('ci', 'https://ci.example.com/hook', '["channel.moved"]', 'node', false, 'c2FsdA==', 'k', 0, 'active', 'ann', now());
      insert into imago.webhook_deliveries (webhook, event, type, body, state, attempts, next_at, at)
        values ('ci', 1, 'channel.moved', '{}', 'waiting', 0, now(), now())`,
};

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
  test('every migration has typical rows in this test', () => {
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
