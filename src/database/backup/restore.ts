// Puts a backup into an empty database. The file is read twice: nothing is touched before its rows were counted and
// its sum compared; then everything is done in one transaction.
import type { Readable } from 'node:stream';
import type { Client } from 'pg';
import { ImagoError } from '../../domain/error/imago-error.ts';
import { connectClient } from '../connection/connection.ts';
import { asStoreError } from '../connection/errors.ts';
import { bootstrap } from '../migrations/bootstrap.ts';
import { applyMigrations, type MigrationReport, newestSchema } from '../migrations/migrate.ts';
import { leaseTable, quoteName, tableName } from './definitions.ts';
import { type BackupHeader, type BackupRow, type BackupTable, invalid } from './format.ts';
import { type BackupLines, openLines } from './lines.ts';
import { sessionSettings } from './session.ts';
import { spool } from './spool.ts';

export interface RestoreSummary {
  readonly tables: number;
  readonly rows: number;
  /** When the backup was made. */
  readonly createdAt: string;
  /** The version of Imago that made it. */
  readonly madeBy?: string;
  /** The schema of the backup, and the one it was brought to. */
  readonly from: number;
  readonly to: number;
}

const rowsAtOnce = 500;

/** What a daemon writes by starting, and by being asked to restore: no content. */
const bookkeeping: Readonly<Record<string, readonly string[]>> = {
  imago: ['migrations', 'events', 'tokens', 'audit', 'idempotency_keys'],
  dbos: ['dbos_migrations', 'application_versions'],
};

/**
 * The caller must be the active daemon of the database (its epoch is compared) and must have stopped the engine.
 * Afterwards it must let its lease go and begin anew: epochs go on from the greater of the two, and tokens are those
 * of the backup. Refused with `restore-not-empty`, `backup-invalid` or `database-version`, and then nothing was
 * changed. A dry run does everything but the end of its transaction.
 */
export async function restore(
  database: { readonly url: string; readonly epoch: number },
  source: Readable,
  { dryRun = false }: { readonly dryRun?: boolean } = {},
): Promise<RestoreSummary> {
  const file = await spool(source);
  try {
    const header = await verify(file.read());
    const client = await connectClient(database.url, {
      ...sessionSettings,
      'imago.epoch': String(database.epoch),
    });
    try {
      await client.query('begin');
      await bootstrap(client);
      await requireActive(client, database.epoch);
      await clear(client, header.schemas);
      const { from, to } = await build(client, header, file.read());
      await client.query(dryRun ? 'rollback' : 'commit');
      return { ...summaryOf(header), from, to };
    } catch (error) {
      await client.query('rollback').catch(() => undefined);
      throw asStoreError(error);
    } finally {
      await client.end().catch(() => undefined);
    }
  } finally {
    await file.close();
  }
}

/** Reads the whole file and throws unless it is one that this Imago can restore. */
async function verify(source: Readable): Promise<BackupHeader> {
  const lines = openLines(source);
  try {
    const header = await lines.header();
    if (header.schemaVersion > newestSchema) throw newerBackup(header);
    await forEachBatch(header, lines, async () => undefined);
    return header;
  } finally {
    lines.close();
  }
}

/** Makes the tables as they were, with all their rows, and brings them to what this Imago needs. */
async function build(client: Client, header: BackupHeader, source: Readable): Promise<MigrationReport> {
  const lines = openLines(source);
  try {
    await lines.header();
    await client.query('set local check_function_bodies = off');
    for (const statement of header.before) await client.query(statement);
    await forEachBatch(header, lines, (table, rows) => insert(client, table, rows));
    for (const statement of header.after) await client.query(statement);
    await setSequences(client, header);
    const report = await applyMigrations(client);
    await client.query('update imago.lease set epoch = greatest(epoch, $1)', [header.epoch]);
    return report;
  } finally {
    lines.close();
  }
}

function summaryOf({ tables, createdAt, madeBy }: BackupHeader): Omit<RestoreSummary, 'from' | 'to'> {
  const rows = tables.reduce((sum, table) => sum + table.rows, 0);
  return { tables: tables.length, rows, createdAt, ...(madeBy === undefined ? {} : { madeBy }) };
}

async function requireActive(client: Client, epoch: number): Promise<void> {
  const { rows } = await client.query<{ epoch: number }>('select epoch from imago.lease');
  if (rows[0]?.epoch === epoch) return;
  throw new ImagoError('owner-stale', 'Another daemon is active on this database: nothing is restored.');
}

/** Refuses what holds anything, and takes away the empty tables that a first start has made. */
async function clear(client: Client, schemas: readonly string[]): Promise<void> {
  for (const schema of schemas) {
    const own = schema === leaseTable.schema;
    const found = await client.query<{ name: string }>(
      'select tablename as name from pg_catalog.pg_tables where schemaname = $1 and tablename <> all($2) order by 1',
      [schema, own ? [leaseTable.name] : []],
    );
    const tables = found.rows.map(({ name }) => ({ schema, name }));
    for (const table of tables) {
      if (bookkeeping[schema]?.includes(table.name)) continue;
      const { rows } = await client.query<{ held: boolean }>(
        `select exists (select from ${tableName(table)}) as held`,
      );
      if (rows[0]?.held !== true) continue;
      throw new ImagoError(
        'restore-not-empty',
        `The database is not empty: ${schema}.${table.name} has rows.`,
      );
    }
    if (!own) {
      await client.query(`drop schema if exists ${quoteName(schema)} cascade`);
      continue;
    }
    for (const table of tables) await client.query(`drop table ${tableName(table)} cascade`);
    const routines = await client.query<{ name: string }>(
      `select p.oid::regprocedure::text as name from pg_proc p join pg_namespace n on n.oid = p.pronamespace
       where n.nspname = $1`,
      [schema],
    );
    for (const { name } of routines.rows) await client.query(`drop routine ${name} cascade`);
  }
}

/** Passes the rows on in batches, and throws at the end unless they are all that the file was made with. */
async function forEachBatch(
  header: BackupHeader,
  lines: BackupLines,
  use: (table: BackupTable, rows: readonly BackupRow[]) => Promise<void>,
): Promise<void> {
  let rows = 0;
  for (const table of header.tables) {
    if ((await lines.next()) !== tableName(table)) throw invalid(`the table ${table.name} is missing`);
    for (let done = 0; done < table.rows; ) {
      const batch: BackupRow[] = [];
      while (batch.length < Math.min(rowsAtOnce, table.rows - done)) batch.push(await nextRow(table, lines));
      await use(table, batch);
      done += batch.length;
    }
    rows += table.rows;
  }
  const sum = lines.sum();
  const end = await lines.next();
  if (typeof end === 'string' || !('sha256' in end)) throw invalid('it has more rows than it says');
  if (end.rows !== rows || end.sha256 !== sum) throw invalid('its content does not fit its sum');
  await lines.requireEnd();
}

async function nextRow(table: BackupTable, lines: BackupLines): Promise<BackupRow> {
  const row = await lines.next();
  if (typeof row === 'string' || 'sha256' in row || row.length !== table.columns.length) {
    throw invalid(`the table ${table.name} has fewer rows than it says`);
  }
  return row;
}

async function insert(client: Client, table: BackupTable, rows: readonly BackupRow[]): Promise<void> {
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

async function setSequences(client: Client, header: BackupHeader): Promise<void> {
  for (const { name, identity, value, called } of header.sequences) {
    await client.query(
      'select setval(coalesce(pg_get_serial_sequence($1, $2), $3)::regclass, $4::bigint, $5)',
      [identity?.table ?? null, identity?.column ?? null, name, value, called],
    );
  }
}

function newerBackup({ schemaVersion }: BackupHeader): ImagoError {
  return new ImagoError(
    'database-version',
    `The backup has schema ${schemaVersion}, and this version of Imago knows ${newestSchema} only.`,
    { hint: 'Restore it with the version of Imago that made it, or a later one.' },
  );
}
