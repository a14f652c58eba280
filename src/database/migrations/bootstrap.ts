// What stands before the first migration: who is active, and which migrations were made. A daemon must become
// the active one before it may change the schema, so these two tables keep their shape for good.
import type { ClientBase } from 'pg';
import { lockClass, locks } from '../connection/locks.ts';

const statements = `
create schema if not exists imago;

create table if not exists imago.lease (
  only_row boolean primary key default true check (only_row),
  epoch bigint not null,
  holder json not null,
  released boolean not null,
  beat_at timestamptz(3) not null
);
insert into imago.lease (epoch, holder, released, beat_at) values (0, '{}', true, now()) on conflict do nothing;

create table if not exists imago.migrations (
  number integer primary key,
  name text not null,
  checksum text not null,
  applied_at timestamptz(3) not null default now()
);
`;

/** Makes the two tables when they are missing. Within a transaction; waits for others that do the same. */
export async function bootstrap(client: ClientBase): Promise<void> {
  await client.query('select pg_advisory_xact_lock($1, $2)', [lockClass, locks.migrate]);
  const found = await client.query<{ there: boolean }>(
    "select to_regclass('imago.migrations') is not null as there",
  );
  if (found.rows[0]?.there !== true) await client.query(statements);
}
