// A database role that can do nothing but insert rows into the tables that a restore fills. It exists within the
// restore's transaction only, unless the database user cannot create roles and an administrator made one.
import { randomBytes } from 'node:crypto';
import type { ClientBase } from 'pg';
import { ImagoError } from '../../domain/error/imago-error.ts';
import { sqlState } from '../connection/errors.ts';
import { type CarriedTable, quoteName, tableName } from './tables.ts';

const insufficientPrivilege = '42501';
/** The role that an administrator creates if Imago's database user cannot. */
const preparedRole = 'imago_restore';

/** Runs `work` as that role, within the caller's transaction. The role and its rights are gone afterwards. */
export async function asLoader(
  client: ClientBase,
  tables: readonly CarriedTable[],
  work: () => Promise<void>,
): Promise<void> {
  const name = `imago_restore_${randomBytes(8).toString('hex')}`;
  const isOwn = await createRole(client, name);
  if (!isOwn) await requirePreparedRole(client);
  const role = quoteName(isOwn ? name : preparedRole);
  const schemas = [...new Set(tables.map(({ schema }) => quoteName(schema)))].join(', ');
  const targets = tables.map(tableName).join(', ');
  await client.query(`grant usage on schema ${schemas} to ${role}; grant insert on ${targets} to ${role}`);
  await client.query(`set local role ${role}`);
  await work();
  await client.query('set local role none');
  await client.query(`revoke all on ${targets} from ${role}; revoke usage on schema ${schemas} from ${role}`);
  if (isOwn) await client.query(`drop role ${role}`);
}

/** Returns false if the database user is not allowed to create roles. */
async function createRole(client: ClientBase, name: string): Promise<boolean> {
  await client.query('savepoint loader');
  try {
    await client.query(`create role ${quoteName(name)} nologin; grant ${quoteName(name)} to current_user`);
    return true;
  } catch (error) {
    if (sqlState(error) !== insufficientPrivilege) throw error;
    await client.query('rollback to savepoint loader');
    return false;
  }
}

async function requirePreparedRole(client: ClientBase): Promise<void> {
  const { rows } = await client.query<{ me: string; usable: boolean }>(
    `select current_user as me, exists (select from pg_roles where rolname = $1 and rolname <> current_user
       and not (rolsuper or rolcreaterole or rolcreatedb or rolreplication or rolbypassrls)
       and pg_has_role(current_user, oid, 'member')) as usable`,
    [preparedRole],
  );
  if (rows[0]?.usable === true) return;
  throw new ImagoError('database-refused', 'The database user cannot create the role that a restore needs.', {
    hint: `As an administrator, run: create role ${preparedRole} nologin; grant ${preparedRole} to ${quoteName(rows[0]?.me ?? '')}`,
  });
}
