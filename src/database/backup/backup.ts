// Writes the rows of all tables into one stream, as they were at one moment, while work continues.
import { Readable } from 'node:stream';
import { createGzip } from 'node:zlib';
import type { Client } from 'pg';
import { ImagoError } from '../../domain/error/imago-error.ts';
import { connectClient } from '../connection/connection.ts';
import { asStoreError } from '../connection/errors.ts';
import {
  type BackupFile,
  type BackupHeader,
  type BackupRow,
  type BackupTable,
  maxLineChars,
} from './format.ts';
import { sessionSettings } from './session.ts';
import { carriedSchemas, engineSchema, quoteName, readTables, tableName } from './tables.ts';

export interface BackupExtra {
  readonly files?: readonly BackupFile[];
  /** Digests of the versions whose disk is in the local store. */
  readonly disks?: Iterable<string>;
}

const rowsAtOnce = 1_000;
const bytesAtOnce = 1024 * 1024;

/**
 * Yields the content of a backup. It changes nothing, and holds a transaction open until it is read to its end or
 * returned. `extra` is carried along.
 */
export async function* backup(
  database: { readonly url: string },
  extra: BackupExtra = {},
): AsyncGenerator<Uint8Array, void> {
  const client = await connectClient(database.url, sessionSettings);
  const gzip = createGzip();
  let source: Readable | undefined;
  try {
    await client.query('begin isolation level repeatable read read only');
    const header = await readHeader(client, extra);
    source = Readable.from(lines(client, header));
    source.once('error', (error) => gzip.destroy(error));
    source.pipe(gzip);
    for await (const chunk of gzip) yield chunk as Uint8Array;
  } catch (error) {
    throw asStoreError(error);
  } finally {
    source?.destroy();
    gzip.destroy();
    await client.end().catch(() => undefined);
  }
}

async function readHeader(client: Client, { files = [], disks = [] }: BackupExtra): Promise<BackupHeader> {
  const state = await client.query<{ schema: number; epoch: number }>(
    `select (select coalesce(max(number), 0) from imago.migrations) as schema,
       (select epoch from imago.lease) as epoch`,
  );
  const { schema = 0, epoch = 0 } = state.rows[0] ?? {};
  const tables: BackupTable[] = [];
  for (const table of await readTables(client)) {
    const counted = await client.query<{ count: number }>(`select count(*) from ${tableName(table)}`);
    const columns = table.columns.map(({ name }) => name);
    const of = table.schema === 'dbos' ? 'dbos' : 'imago';
    tables.push({ schema: of, name: table.name, columns, rows: counted.rows[0]?.count ?? 0 });
  }
  const sequences = await readSequences(client);
  const engine = await engineSchema(client);
  return { schema, engine, epoch, tables, sequences, disks: [...disks], files: [...files] };
}

async function readSequences(client: Client): Promise<BackupHeader['sequences']> {
  const found = await client.query<BackupHeader['sequences'][number] & { name: string }>(
    `select c.oid::regclass::text as name, n.nspname as schema, t.relname as table, a.attname as column
     from pg_class c join pg_depend d on d.classid = 'pg_class'::regclass and d.objid = c.oid
       and d.refclassid = 'pg_class'::regclass and d.deptype in ('a', 'i')
     join pg_class t on t.oid = d.refobjid join pg_namespace n on n.oid = t.relnamespace
     join pg_attribute a on a.attrelid = d.refobjid and a.attnum = d.refobjsubid
     where c.relkind = 'S' and n.nspname = any($1) order by 1`,
    [carriedSchemas],
  );
  const sequences: BackupHeader['sequences'] = [];
  for (const { name, ...place } of found.rows) {
    const { rows } = await client.query<{ value: string; called: boolean }>(
      `select last_value::text as value, is_called as called from ${name}`,
    );
    sequences.push(...rows.map((state) => ({ ...place, ...state })));
  }
  return sequences;
}

async function* lines(client: Client, header: BackupHeader): AsyncGenerator<string> {
  yield `${JSON.stringify(header)}\n`;
  for (const table of header.tables) {
    for await (const row of rowsOf(client, table)) {
      const line = JSON.stringify(row);
      if (line.length <= maxLineChars) yield `${line}\n`;
      else {
        throw new ImagoError('internal', `A row of ${tableName(table)} is too large for a backup.`);
      }
    }
  }
}

async function* rowsOf(client: Client, table: BackupTable): AsyncGenerator<BackupRow> {
  const columns = table.columns.map((name) => `${quoteName(name)}::text`).join(', ');
  await client.query(`declare carried no scroll cursor for select ${columns} from ${tableName(table)}`);
  for (let count = rowsAtOnce; ; ) {
    const text = `fetch ${count} from carried`;
    const { rows } = await client.query<(string | null)[]>({ text, rowMode: 'array' });
    yield* rows;
    if (rows.length < count) break;
    count = fitting(rows);
  }
  await client.query('close carried');
}

/** Returns how many rows to fetch next, so that wide rows do not fill the memory. */
function fitting(rows: readonly BackupRow[]): number {
  const widest = Math.max(1, ...rows.map((row) => row.reduce((sum, cell) => sum + (cell?.length ?? 0), 0)));
  return Math.max(1, Math.min(rowsAtOnce, Math.floor(bytesAtOnce / widest)));
}
