// Empties a database that holds nothing yet, so that a restore can create the tables of the backup's own schema.
import type { ClientBase } from 'pg';
import { ImagoError } from '../../domain/error/imago-error.ts';
import { readTables, tableName } from './tables.ts';

/** What a daemon writes on its own and when it is asked to restore. It is not content. */
const bookkeeping = [
  'events',
  'tokens',
  'audit',
  'idempotency_keys',
  'spent_keys',
  'problems',
  'limit_samples',
].map((name) => `imago.${name}`);
const engineBookkeeping = 'dbos.application_versions';

/** Throws `restore-not-empty` if any other table has rows. */
export async function clear(client: ClientBase): Promise<void> {
  for (const table of await readTables(client)) {
    const name = `${table.schema}.${table.name}`;
    if (name === engineBookkeeping) await client.query(`delete from ${name}`);
    if (bookkeeping.includes(name)) continue;
    const { rows } = await client.query(`select exists (select from ${tableName(table)}) as held`);
    if (rows[0]?.held !== true) continue;
    throw new ImagoError('restore-not-empty', `The database is not empty: table ${name} has rows.`);
  }
  const { rows } = await client.query<{ statement: string }>(
    `select format('drop table %s cascade', c.oid::regclass) as statement from pg_class c
     where c.relnamespace = 'imago'::regnamespace and c.relkind = 'r' and c.relname <> 'lease'
     union all
     select format('drop routine %s cascade', p.oid::regprocedure) from pg_proc p
     where p.pronamespace = 'imago'::regnamespace`,
  );
  for (const { statement } of rows) await client.query(statement);
}
