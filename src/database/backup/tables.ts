// Lists the tables whose rows a backup carries. Names and types always come from the database's own catalog, never
// from a file.
import type { ClientBase } from 'pg';

export interface CarriedTable {
  readonly schema: string;
  readonly name: string;
  /** The columns that store a value; generated columns are omitted. */
  readonly columns: readonly { readonly name: string; readonly type: string }[];
}

/** Imago's own schema and the engine's. */
export const carriedSchemas = ['imago', 'dbos'] as const;

/** Tables that belong to a database rather than to its content: who is active, and which migrations ran. */
const notCarried = ['imago.lease', 'imago.migrations', 'dbos.dbos_migrations'];

export async function readTables(client: ClientBase): Promise<readonly CarriedTable[]> {
  const { rows } = await client.query<{ schema: string; table: string; name: string; type: string }>(
    `select n.nspname as schema, c.relname as table, a.attname as name,
       format_type(a.atttypid, a.atttypmod) as type
     from pg_class c join pg_namespace n on n.oid = c.relnamespace
     join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped and a.attgenerated = ''
     where c.relkind = 'r' and n.nspname = any($1) and n.nspname || '.' || c.relname <> all($2)
     order by n.nspname desc, c.relname, a.attnum`,
    [carriedSchemas, notCarried],
  );
  return [...Map.groupBy(rows, ({ schema, table }) => `${schema}.${table}`).values()].map((columns) => ({
    schema: columns[0]?.schema ?? '',
    name: columns[0]?.table ?? '',
    columns: columns.map(({ name, type }) => ({ name, type })),
  }));
}

/** Returns the newest migration of the engine's schema; 0 if the schema does not exist. */
export async function engineSchema(client: ClientBase): Promise<number> {
  const found = await client.query("select to_regclass('dbos.dbos_migrations') is not null as there");
  if (found.rows[0]?.there !== true) return 0;
  const { rows } = await client.query<{ version: number }>(
    'select coalesce(max(version), 0) as version from dbos.dbos_migrations',
  );
  return rows[0]?.version ?? 0;
}

export function quoteName(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

export function tableName({ schema, name }: { readonly schema: string; readonly name: string }): string {
  return `${quoteName(schema)}.${quoteName(name)}`;
}
