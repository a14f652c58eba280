// A backup is input from outside: nothing in it is executed, not even in a dry run, and what does not fit is refused
// with nothing changed, even if a trusted key signed it.
import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { createGzip, gunzipSync, gzipSync } from 'node:zlib';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { createArchive } from '../../src/daemon/backup/archive.ts';
import { seal } from '../../src/daemon/backup/container.ts';
import { writeKeyFiles } from '../../src/daemon/backup/key-files.ts';
import { backup } from '../../src/database/backup/backup.ts';
import { asLoader } from '../../src/database/backup/loader-role.ts';
import { readTables } from '../../src/database/backup/tables.ts';
import { connectClient } from '../../src/database/connection/connection.ts';
import type { Store } from '../../src/database/open-database.ts';
import { keyFolder } from '../../src/oci/signatures/key-folder.ts';
import type { Archive } from '../../src/ports/database/archive.ts';
import { administer, type StoreBench, seedImage, startStoreBench } from '../support/store.ts';

let bench: StoreBench;
let home: string;
let proof: string;
let target: Store;
let archive: Archive;
let lines: string[];
const stops: string[] = [];

beforeAll(async () => {
  bench = await startStoreBench();
  home = mkdtempSync(join(tmpdir(), 'imago-hostile-'));
  proof = join(bench.postgres.folder, 'proof');
  await keyFolder(join(home, 'keys')).create('2026-01-01T00:00:00.000Z');
  const source = await bench.freshStore();
  await seedImage(source, 'node', 2);
  lines = gunzipSync(await buffer(Readable.from(backup(source.database))))
    .toString()
    .trimEnd()
    .split('\n');
  target = await bench.freshStore();
  archive = createArchive({
    ...{ database: target.database, home },
    beforeRestore: async () => void stops.push('stopped'),
    afterRestore: () => undefined,
  });
});

afterAll(async () => {
  rmSync(home, { recursive: true, force: true });
  await bench.stop();
});

beforeEach(() => void stops.splice(0));

const header = () => JSON.parse(lines[0] ?? '');
const withHeader = (change: object) =>
  gzipSync(`${lines.with(0, JSON.stringify({ ...header(), ...change })).join('\n')}\n`);
const withTable = (change: object) =>
  withHeader({
    tables: header().tables.map((table: object, index: number) =>
      index === 0 ? { ...table, ...change } : table,
    ),
  });
const rowOf = (name: string) => {
  let row = 1;
  for (const table of header().tables) {
    if (table.name === name) return row;
    row += table.rows;
  }
  throw new Error(`There is no table ${name}.`);
};
const withRow = (table: string, change: (row: (string | null)[]) => unknown) =>
  gzipSync(
    `${lines.with(rowOf(table), JSON.stringify(change(JSON.parse(lines[rowOf(table)] ?? '')))).join('\n')}\n`,
  );

async function signed(content: Buffer): Promise<Buffer> {
  const key = await keyFolder(join(home, 'keys')).load(new Date().toISOString());
  const envelope = { madeAt: new Date().toISOString(), madeBy: 'x', holds: ['records' as const], copy: [] };
  return buffer(Readable.from(seal(Readable.from([content]), { envelope, key })));
}

async function expectRefused(file: Buffer, code: string): Promise<void> {
  const before = await administer(
    target.database.url,
    "select oid::text, relname from pg_class where relnamespace = 'imago'::regnamespace order by 1",
  );
  for (const dryRun of [true, false]) {
    const options = { dryRun, withKeys: true, signal: new AbortController().signal };
    await expect(archive.restore(Readable.from([file]), options)).rejects.toMatchObject({ code });
  }
  expect(existsSync(proof)).toBe(false);
  const after = await administer(
    target.database.url,
    "select oid::text, relname from pg_class where relnamespace = 'imago'::regnamespace order by 1",
  );
  expect(after).toEqual(before);
  expect((await target.catalogue.listImages({ limit: 10 })).items).toEqual([]);
}

const run = () => `copy (select 1) to program 'touch ${proof}'`;

test('a file of the earlier format with SQL in it is refused before the engine is stopped', async () => {
  const old = { format: 'imago-backup', version: 1, before: [run()], after: [run()] };
  await expectRefused(gzipSync(`${JSON.stringify(old)}\n`), 'backup-invalid');
  expect(stops).toEqual([]);
});

test('a file that is not signed by a trusted key is refused before the engine is stopped', async () => {
  const theirs = mkdtempSync(join(tmpdir(), 'imago-theirs-'));
  const keys = keyFolder(theirs);
  await keys.create('2026-01-01T00:00:00.000Z');
  const key = await keys.load(new Date().toISOString());
  const envelope = { madeAt: new Date().toISOString(), madeBy: 'x', holds: ['records' as const], copy: [] };
  const content = gzipSync(`${lines.join('\n')}\n`);
  await expectRefused(
    await buffer(Readable.from(seal(Readable.from([content]), { envelope, key }))),
    'backup-untrusted',
  );
  expect(stops).toEqual([]);
  rmSync(theirs, { recursive: true });
});

describe('signed content is refused', () => {
  test.each([
    ['SQL fields in its header', () => withHeader({ before: [run()], after: [run()] })],
    ['SQL as a table name', () => withTable({ name: `images"; ${run()}; --` })],
    ['SQL as a column name', () => withTable({ columns: [`name") values (1); ${run()}; --`] })],
    [
      'SQL as a sequence',
      () =>
        withHeader({
          sequences: [
            { schema: 'imago', table: `x'); ${run()}; --`, column: 'id', value: '1', called: true },
          ],
        }),
    ],
    ['a table of the system', () => withTable({ schema: 'pg_catalog', name: 'pg_authid' })],
    ['a table that is not carried', () => withTable({ name: 'lease' })],
    ['an unknown table', () => withTable({ name: 'extra' })],
    ['an unknown column', () => withTable({ columns: ['extra'] })],
    ['a table twice', () => withHeader({ tables: [...header().tables, header().tables[0]] })],
    ['a missing table', () => withHeader({ tables: header().tables.slice(1) })],
    [
      'an unknown sequence',
      () =>
        withHeader({
          sequences: [{ schema: 'imago', table: 'images', column: 'name', value: '1', called: true }],
        }),
    ],
    ['a value of another type', () => withRow('images', (row) => row.with(-1, 'not a time'))],
    ['a value that the tables forbid', () => withRow('images', (row) => row.with(1, 'plan9'))],
    ['a reference to a missing row', () => withRow('images', (row) => row.with(0, 'renamed'))],
    ['a row that is an object', () => withRow('images', () => ({ name: 'x' }))],
    ['a row with too many values', () => withRow('images', (row) => [...row, 'x'])],
    ['more rows than it counts', () => gzipSync(`${lines.join('\n')}\n[]\n`)],
    ['a truncated last line', () => gzipSync(lines.join('\n'))],
    ['bytes that are not gzip', () => Buffer.from('hello')],
  ])('if it has %s', async (_, make) => {
    await expectRefused(await signed(make()), 'backup-invalid');
  });

  test('if it unpacks to an endless line', async () => {
    const gzip = createGzip();
    const packed = buffer(gzip);
    for (let megabytes = 0; megabytes < 80; megabytes += 1) gzip.write(Buffer.alloc(1024 * 1024, 97));
    gzip.end();
    await expectRefused(await signed(await packed), 'backup-invalid');
  });
});

test('values with SQL in them are stored as they are', async () => {
  const why = `'); ${run()}; --`;
  const source = await bench.freshStore();
  await seedImage(source, 'node', 1);
  await source.audit.add({ who: why, what: why, subject: '$1', before: null, requestId: '', status: 200 });
  const into = await bench.freshStore();
  const there = createArchive({
    ...{ database: into.database, home, beforeRestore: async () => undefined, afterRestore: () => undefined },
  });
  const content = await buffer(Readable.from(backup(source.database)));
  await there.restore(Readable.from([await signed(content)]), {
    ...{ dryRun: false, withKeys: false, signal: new AbortController().signal },
  });
  expect((await into.audit.list({ limit: 10 })).items).toMatchObject([{ who: why, subject: '$1' }]);
  expect(existsSync(proof)).toBe(false);
});

test('the role that loads rows can do nothing else', async () => {
  const client = await connectClient(await bench.freshDatabase(), { 'imago.epoch': '0' });
  await client.query('begin');
  const refused: string[] = [];
  await asLoader(client, await readTables(client), async () => {
    const statements = [
      'select * from imago.tokens',
      'update imago.images set os = os',
      'delete from imago.images',
      'truncate imago.images',
      'insert into imago.lease (epoch, holder, released, beat_at) values (1, null, true, now())',
      'update imago.lease set epoch = 9',
      'create table imago.mine (id integer)',
      'create schema mine',
      'create role other superuser',
      'alter table imago.images disable trigger all',
      'drop table imago.images',
      run(),
      "select pg_read_file('/etc/hostname')",
      "select lo_import('/etc/hostname')",
    ];
    for (const statement of statements) {
      await client.query('savepoint one');
      await client.query(statement).catch((error) => refused.push(error.code));
      await client.query('rollback to savepoint one');
    }
    expect(refused).toEqual(statements.map(() => '42501'));
  });
  await client.query('rollback');
  await client.end();
  expect(existsSync(proof)).toBe(false);
});

test.each([
  '../evil',
  'keys/../../evil',
  '/etc/cron.d/evil',
  'keys/evil.pem',
  'secrets/x',
  'webhook.key/x',
  'keys',
])('a key file named %s is refused, and nothing is written', async (name) => {
  const empty = mkdtempSync(join(tmpdir(), 'imago-keys-'));
  const data = Buffer.alloc(32).toString('base64');
  const files = [
    { name: 'webhook.key', data },
    { name, data },
  ];
  await expect(writeKeyFiles(empty, files)).rejects.toMatchObject({ code: 'backup-invalid' });
  expect(readdirSync(empty)).toEqual([]);
  rmSync(empty, { recursive: true });
});
