// Loads a backup into an empty database. The tables come from our migrations and from the engine; the backup only has
// rows, which are inserted under a role that can do nothing else. Everything happens in one transaction.
import type { Readable } from 'node:stream';
import type { Client } from 'pg';
import { ImagoError } from '../../domain/error/imago-error.ts';
import { connectClient } from '../connection/connection.ts';
import { asStoreError, sqlState } from '../connection/errors.ts';
import { lockClass, locks } from '../connection/locks.ts';
import { migrations } from '../migrations/all.ts';
import { bootstrap } from '../migrations/bootstrap.ts';
import { applyMigrations, newestSchema } from '../migrations/migrate.ts';
import { clear } from './clear.ts';
import {
  type BackupFile,
  type BackupHeader,
  type BackupReader,
  type BackupRow,
  invalid,
  readContent,
} from './format.ts';
import { asLoader } from './loader-role.ts';
import { sessionSettings } from './session.ts';
import { type CarriedTable, engineSchema, quoteName, readTables, tableName } from './tables.ts';

export interface RestoreOptions {
  readonly dryRun?: boolean;
  /** Digests of the versions whose disk is here. */
  readonly disks?: ReadonlySet<string>;
  /** Called with the files of the backup right before the end, including in a dry run. */
  readonly onFiles?: (files: readonly BackupFile[]) => Promise<void>;
}

export interface RestoreSummary {
  readonly tables: number;
  readonly rows: number;
  readonly files: readonly string[];
  /** Versions whose disk is missing, `NAME:VERSION`; each is recorded as a problem. */
  readonly missingDisks: readonly string[];
  /** The schema of the backup, and the one it was migrated to. */
  readonly from: number;
  readonly to: number;
}

const rowsAtOnce = 500;
const charsAtOnce = 4 * 1024 * 1024;

/**
 * The caller must be the active daemon of the database (its epoch is compared), must have stopped the engine, and must
 * have verified where the content comes from. Afterwards it must release its lease and start again: epochs continue
 * from the greater of the two, and tokens are those of the backup. Throws `restore-not-empty`, `backup-invalid` or
 * `database-version`, and then nothing was changed. A dry run does everything but commit.
 */
export async function restore(
  database: { readonly url: string; readonly epoch: number },
  source: Readable,
  { dryRun = false, disks = new Set(), onFiles }: RestoreOptions = {},
): Promise<RestoreSummary> {
  const settings = { ...sessionSettings, 'imago.epoch': String(database.epoch) };
  const client = await connectClient(database.url, settings);
  try {
    const reader = await readContent(source);
    const { header } = reader;
    if (header.schema > newestSchema) throw newerBackup(header.schema, newestSchema);
    await client.query('begin');
    await bootstrap(client);
    await requireActive(client, database.epoch);
    await clear(client);
    await bootstrap(client);
    await applyMigrations(client, migrations.slice(0, header.schema));
    await load(client, reader);
    const { from, to } = await applyMigrations(client);
    const missingDisks = await markMissingDisks(
      client,
      header.disks.filter((digest) => !disks.has(digest)),
    );
    // Last of all: with another epoch, the fence refuses this session's writes.
    await client.query('update imago.lease set epoch = greatest(epoch, $1)', [header.epoch]);
    await onFiles?.(header.files);
    await client.query(dryRun ? 'rollback' : 'commit');
    const rows = header.tables.reduce((sum, table) => sum + table.rows, 0);
    const files = header.files.map(({ name }) => name);
    return { tables: header.tables.length, rows, files, missingDisks, from, to };
  } catch (error) {
    await client.query('rollback').catch(() => undefined);
    throw asRestoreError(error);
  } finally {
    source.destroy();
    await client.end().catch(() => undefined);
  }
}

async function requireActive(client: Client, epoch: number): Promise<void> {
  // The triggers that compare the epoch are disabled while rows are loaded, so this takes the same lock.
  await client.query('select pg_advisory_xact_lock_shared($1, $2)', [lockClass, locks.fence]);
  const { rows } = await client.query<{ epoch: number }>('select epoch from imago.lease');
  if (rows[0]?.epoch === epoch) return;
  throw new ImagoError('owner-stale', 'Another daemon is active on this database: nothing is restored.');
}

async function markMissingDisks(client: Client, digests: readonly string[]): Promise<readonly string[]> {
  const { rows } = await client.query<{ name: string }>(
    `with missing as (
       select image || ':' || version as name from imago.versions
       where digest = any($1) and state <> 'deleted' order by image, major, minor, patch
     ), opened as (
       insert into imago.problems (source, kind, subject, message, hint, count, first_at, last_at)
       select 'disks', 'disk-missing', 'version/' || name, 'The disk of ' || name || ' was not restored.', $2, 1, now(), now()
       from missing on conflict do nothing
     )
     select name from missing`,
    [digests, 'Copy the directory store from the host that made the backup into the state directory.'],
  );
  const names = rows.map(({ name }) => name);
  if (names.length > 0) {
    await client.query("select imago.add_event('problem.opened', 'job/disks', $1)", [
      JSON.stringify({ kind: 'disk-missing', count: names.length }),
    ]);
  }
  return names;
}

async function load(client: Client, reader: BackupReader): Promise<void> {
  const tables = await readTables(client);
  const targets = matchTables(reader.header, tables);
  const engine = await engineSchema(client);
  if (reader.header.engine > engine) throw newerBackup(reader.header.engine, engine);
  const names = tables.map(tableName);
  const keys = await client.query<{ table: string; name: string }>(
    `select conrelid::regclass::text as table, quote_ident(conname) as name from pg_constraint
     where contype = 'f' and not condeferrable and conrelid = any($1::regclass[])`,
    [names],
  );
  const alterKeys = (as: string) =>
    keys.rows.map(({ table, name }) => `alter table ${table} alter constraint ${name} ${as}`);
  const triggers = (to: string) => names.map((name) => `alter table ${name} ${to} trigger user`);
  await client.query([...triggers('disable'), ...alterKeys('deferrable initially deferred')].join(';'));
  await asLoader(client, tables, () => insertAll(client, reader, targets));
  await client.query('set constraints all immediate');
  await client.query([...alterKeys('not deferrable'), ...triggers('enable')].join(';'));
  await setSequences(client, reader.header);
}

/** Finds each table of the backup in the database. Imago's own must be the same, the engine may have more columns. */
function matchTables(
  { tables }: BackupHeader,
  here: readonly CarriedTable[],
): ReadonlyMap<string, CarriedTable> {
  const found = new Map(here.map((table) => [tableName(table), table]));
  const matched = new Map<string, CarriedTable>();
  for (const table of tables) {
    const name = `${table.schema}.${table.name}`;
    const target = found.get(tableName(table));
    if (target === undefined) throw invalid(`it has a table ${name}, which does not exist here`);
    if (matched.has(tableName(table))) throw invalid(`it has the table ${name} twice`);
    const columns = table.columns.map((column) => target.columns.find((one) => one.name === column));
    const isSame = table.schema === 'dbos' || columns.length === target.columns.length;
    if (new Set(columns).size !== columns.length || columns.includes(undefined) || !isSame) {
      throw invalid(`the columns of its table ${name} are not those of the table here`);
    }
    matched.set(tableName(table), { ...target, columns: columns.filter((one) => one !== undefined) });
  }
  const missing = here.find((table) => table.schema === 'imago' && !matched.has(tableName(table)));
  if (missing !== undefined) throw invalid(`its table imago.${missing.name} is missing`);
  return matched;
}

async function insertAll(
  client: Client,
  reader: BackupReader,
  targets: ReadonlyMap<string, CarriedTable>,
): Promise<void> {
  let current: string | undefined;
  let batch: BackupRow[] = [];
  let chars = 0;
  async function flush(): Promise<void> {
    const target = targets.get(current ?? '');
    if (target !== undefined && batch.length > 0) await insert(client, target, batch);
    batch = [];
    chars = 0;
  }
  for await (const { table, row } of reader.rows()) {
    const name = tableName(table);
    if (name !== current || batch.length === rowsAtOnce || chars > charsAtOnce) await flush();
    current = name;
    batch.push(row);
    chars += row.reduce((sum, cell) => sum + (cell?.length ?? 0), 0);
  }
  await flush();
}

async function insert(client: Client, table: CarriedTable, rows: readonly BackupRow[]): Promise<void> {
  const names = table.columns.map(({ name }) => quoteName(name));
  const values = table.columns.map(({ type }, index) => `given.c${index}::${type}`);
  const parameters = table.columns.map((_, index) => `$${index + 1}::text[]`);
  const given = table.columns.map((_, index) => `c${index}`);
  await client.query(
    `insert into ${tableName(table)} (${names.join(', ')}) overriding system value
     select ${values.join(', ')} from unnest(${parameters.join(', ')}) as given (${given.join(', ')})`,
    table.columns.map((_, index) => rows.map((row) => row[index])),
  );
}

async function setSequences(client: Client, { sequences }: BackupHeader): Promise<void> {
  for (const { schema, table, column, value, called } of sequences) {
    const { rows } = await client.query<{ name: string | null }>(
      'select pg_get_serial_sequence($1, $2) as name',
      [tableName({ schema, name: table }), column],
    );
    const [sequence] = rows;
    if (!sequence?.name) throw invalid(`it has a sequence for ${schema}.${table}.${column}, which has none`);
    await client.query('select setval($1::regclass, $2::bigint, $3)', [sequence.name, value, called]);
  }
}

/** Values that do not fit their column, or break a rule of the tables, are the backup's fault (SQL state classes). */
function asRestoreError(error: unknown): ImagoError {
  if (error instanceof ImagoError) return error;
  const isContent = /^(22|23|42703|42P01)/.test(sqlState(error) ?? '');
  return isContent
    ? invalid(`the database refuses a row (${(error as Error).message})`, error)
    : asStoreError(error);
}

function newerBackup(theirs: number, ours: number): ImagoError {
  return new ImagoError(
    'database-version',
    `The backup has schema ${theirs}, and this version of Imago only knows schema ${ours}.`,
    { hint: 'Restore it with the version of Imago that made it, or a later one.' },
  );
}
