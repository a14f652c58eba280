// Extends the fence to tables that are not ours: the engine's. A writer must then carry the active
// epoch (`urlWithEpoch`), and a daemon that lost its lease can no longer record the end of a step.
import { sql } from 'kysely';
import type { Database } from '../connection/database.ts';

/** Fences every table that the schema has now; those that are fenced already stay so. Unknown schemas are ignored. */
export async function fenceSchema(database: Database, schema: string): Promise<void> {
  const open = await database.read((tables) =>
    sql<{ name: string }>`
      select c.oid::regclass::text as name
      from pg_class c join pg_namespace n on n.oid = c.relnamespace
      where n.nspname = ${schema} and c.relkind = 'r'
        and not exists (select from pg_trigger t where t.tgrelid = c.oid and t.tgname = 'a_fence')
      order by c.oid`.execute(tables),
  );
  // One at a time: a process that works on several of them concurrently must not be caught in a deadlock.
  for (const { name } of open.rows) {
    await database.write(({ tables }) => sql`select imago.fence_table(${name}::regclass)`.execute(tables));
  }
}
