// Writes everything that Imago keeps in PostgreSQL into one stream, as it stood at one moment, while work goes on.
import { createHash } from 'node:crypto';
import type { Writable } from 'node:stream';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import type { Client } from 'pg';
import { ImagoError } from '../../domain/error/imago-error.ts';
import { connectClient } from '../connection/connection.ts';
import { asStoreError } from '../connection/errors.ts';
import { quoteName, readDefinitions, type TableDefinition, tableName } from './definitions.ts';
import { type BackupHeader, type BackupTable, formatName, formatVersion } from './format.ts';
import { sessionSettings } from './session.ts';

export interface BackupOptions {
  /** Which schemas are carried, when they exist: Imago's own and the engine's. */
  readonly schemas?: readonly string[];
  /** The version of Imago that makes it, for whoever restores it. */
  readonly madeBy?: string;
}

export interface BackupSummary {
  readonly tables: number;
  readonly rows: number;
  readonly schemaVersion: number;
  readonly createdAt: string;
}

export const carriedSchemas = ['imago', 'dbos'] as const;

const rowsAtOnce = 1_000;

/** Changes nothing. When it fails, what was written so far is no backup: it lacks its end. */
export async function backup(
  database: { readonly url: string },
  target: Writable,
  options: BackupOptions = {},
): Promise<BackupSummary> {
  const client = await connectClient(database.url, sessionSettings);
  try {
    await client.query('begin isolation level repeatable read read only');
    const state = await readState(client, options.schemas ?? carriedSchemas);
    const header = { ...state, ...(options.madeBy === undefined ? {} : { madeBy: options.madeBy }) };
    await pipeline(Readable.from(lines(client, header)), createGzip(), target).catch(refuseFullTarget);
    const rows = header.tables.reduce((sum, table) => sum + table.rows, 0);
    const { schemaVersion, createdAt } = header;
    return { tables: header.tables.length, rows, schemaVersion, createdAt };
  } finally {
    await client.end().catch(() => undefined);
  }
}

/** Errors of the database are in Imago's words by now; the others come from the target. */
function refuseFullTarget(error: NodeJS.ErrnoException): never {
  if (error.code !== 'ENOSPC' && error.code !== 'EDQUOT') throw error;
  throw new ImagoError('no-space', 'The backup does not fit where it is written to.', { cause: error });
}

async function readState(client: Client, wanted: readonly string[]): Promise<BackupHeader> {
  await client.query('begin isolation level repeatable read read only');
  const found = await client.query<{ nspname: string }>(
    'select nspname from pg_namespace where nspname = any($1) order by nspname desc',
    [wanted],
  );
  const schemas = found.rows.map(({ nspname }) => nspname);
  const { before, after, tables } = await readDefinitions(client, schemas);
  const state = await client.query<{ postgres: number; schema_version: number; epoch: number; at: string }>(
    `select current_setting('server_version_num')::integer as postgres, now() as at,
       (select coalesce(max(number), 0) from imago.migrations) as schema_version,
       (select epoch from imago.lease) as epoch`,
  );
  const [row] = state.rows;
  return {
    format: formatName,
    version: formatVersion,
    createdAt: row?.at ?? '',
    postgres: row?.postgres ?? 0,
    schemaVersion: row?.schema_version ?? 0,
    epoch: row?.epoch ?? 0,
    schemas,
    before: [...before],
    after: [...after],
    tables: await countRows(client, tables),
    sequences: await readSequences(client, schemas),
  };
}

async function countRows(client: Client, tables: readonly TableDefinition[]): Promise<BackupTable[]> {
  const counted: BackupTable[] = [];
  for (const table of tables) {
    const { rows } = await client.query<{ count: number }>(`select count(*) from ${tableName(table)}`);
    counted.push({ ...table, columns: [...table.columns], rows: rows[0]?.count ?? 0 });
  }
  return counted;
}

async function readSequences(client: Client, schemas: readonly string[]): Promise<BackupHeader['sequences']> {
  const found = await client.query<{ name: string; table: string | null; column: string | null }>(
    `select c.oid::regclass::text as name, d.refobjid::regclass::text as table, a.attname as column
     from pg_class c join pg_namespace n on n.oid = c.relnamespace
     left join pg_depend d on d.classid = 'pg_class'::regclass and d.objid = c.oid
       and d.refclassid = 'pg_class'::regclass and d.deptype = 'i'
     left join pg_attribute a on a.attrelid = d.refobjid and a.attnum = d.refobjsubid
     where c.relkind = 'S' and n.nspname = any($1) order by 1`,
    [schemas],
  );
  const sequences: BackupHeader['sequences'] = [];
  for (const { name, table, column } of found.rows) {
    const { rows } = await client.query<{ value: string; called: boolean }>(
      `select last_value::text as value, is_called as called from ${name}`,
    );
    const [state] = rows;
    if (state === undefined) continue;
    sequences.push({
      name,
      ...(table === null || column === null ? {} : { identity: { table, column } }),
      ...state,
    });
  }
  return sequences;
}

async function* lines(client: Client, header: BackupHeader): AsyncGenerator<string> {
  const hash = createHash('sha256');
  let rows = 0;
  function line(value: unknown): string {
    const text = `${JSON.stringify(value)}\n`;
    hash.update(text);
    return text;
  }
  yield line(header);
  for (const table of header.tables) {
    yield line(tableName(table));
    for await (const batch of batches(client, table)) {
      rows += batch.length;
      yield batch.map(line).join('');
    }
  }
  yield `${JSON.stringify({ end: { rows, sha256: hash.digest('hex') } })}\n`;
}

async function* batches(client: Client, table: BackupTable): AsyncGenerator<(string | null)[][]> {
  const columns = table.columns.map(({ name }) => `${quoteName(name)}::text`).join(', ');
  async function query(text: string): Promise<(string | null)[][]> {
    try {
      return (await client.query<(string | null)[]>({ text, rowMode: 'array' })).rows;
    } catch (error) {
      throw asStoreError(error);
    }
  }
  await query(`declare carried no scroll cursor for select ${columns} from ${tableName(table)}`);
  for (;;) {
    const rows = await query(`fetch ${rowsAtOnce} from carried`);
    if (rows.length > 0) yield rows;
    if (rows.length < rowsAtOnce) break;
  }
  await query('close carried');
}
