// Brings the schema to what this version of Imago needs: forward only, all or nothing, one process at a time.
import { createHash } from 'node:crypto';
import type { ClientBase } from 'pg';
import { ImagoError } from '../../domain/error/imago-error.ts';
import { connectClient } from '../connection/connection.ts';
import { asStoreError } from '../connection/errors.ts';
import { migrations as allMigrations } from './all.ts';
import { bootstrap } from './bootstrap.ts';
import type { Migration } from './migration.ts';

export interface MigrateOptions {
  readonly url: string;
  /** Of the daemon that migrates: `owner-stale` when it is not the active one. */
  readonly epoch: number;
  /** Which migrations this version of the code has. */
  readonly migrations?: readonly Migration[];
}

export interface MigrationReport {
  /** The number of the newest migration before and after; 0 for an empty database. */
  readonly from: number;
  readonly to: number;
}

const oldestServer = 140_000;

/** The newest migration that this version of Imago knows. */
export const newestSchema: number = allMigrations.at(-1)?.number ?? 0;

/**
 * Applies what is missing, in one transaction: after a crash nothing of it was done. A second call, also at
 * the same time from another process, finds nothing left to do. A database that a newer Imago has changed is
 * refused with `database-version`.
 */
export async function migrate(options: MigrateOptions): Promise<MigrationReport> {
  const client = await connectClient(options.url, { 'imago.epoch': String(options.epoch) });
  try {
    await requireServer(client);
    await client.query('begin');
    await bootstrap(client);
    const report = await applyMigrations(client, options.migrations ?? allMigrations);
    await client.query('commit');
    return report;
  } catch (error) {
    await client.query('rollback').catch(() => undefined);
    throw asStoreError(error);
  } finally {
    await client.end().catch(() => undefined);
  }
}

/** Version 14 is the first that can replace a trigger; texts of all languages need UTF-8. */
async function requireServer(client: ClientBase): Promise<void> {
  const { rows } = await client.query<{ number: number; version: string; encoding: string }>(
    `select current_setting('server_version_num')::integer as number,
       current_setting('server_version') as version, current_setting('server_encoding') as encoding`,
  );
  const { number = 0, version, encoding } = rows[0] ?? {};
  if (number < oldestServer) {
    throw new ImagoError('database-refused', `PostgreSQL ${version} is too old: Imago needs 14 or later.`, {
      hint: 'Point IMAGO_DATABASE_URL at a newer server.',
    });
  }
  if (encoding !== 'UTF8') {
    throw new ImagoError(
      'database-refused',
      `The database has the encoding ${encoding}, and Imago needs UTF8.`,
      {
        hint: "Make another one with `create database NAME encoding 'UTF8' template template0`.",
      },
    );
  }
}

/** The part of `migrate` that needs a transaction around it, in which `bootstrap` was called. */
export async function applyMigrations(
  client: ClientBase,
  migrations: readonly Migration[] = allMigrations,
): Promise<MigrationReport> {
  await requireActive(client);
  const applied = await appliedMigrations(client);
  checkHistory(applied, migrations);
  for (const migration of migrations.slice(applied.length)) {
    await client.query(migration.sql);
    await client.query('insert into imago.migrations (number, name, checksum) values ($1, $2, $3)', [
      migration.number,
      migration.name,
      checksum(migration),
    ]);
  }
  return { from: applied.length, to: Math.max(applied.length, migrations.length) };
}

async function requireActive(client: ClientBase): Promise<void> {
  const { rows } = await client.query<{ mine: string | null; active: number }>(
    "select current_setting('imago.epoch', true) as mine, epoch as active from imago.lease",
  );
  const { mine, active } = rows[0] ?? {};
  if (active !== undefined && mine === String(active)) return;
  throw new ImagoError(
    'owner-stale',
    `Epoch ${mine} is not the active one, ${active}: the schema is not touched.`,
  );
}

interface AppliedMigration {
  readonly number: number;
  readonly name: string;
  readonly checksum: string;
}

async function appliedMigrations(client: ClientBase): Promise<readonly AppliedMigration[]> {
  const found = await client.query<AppliedMigration>(
    'select number, name, checksum from imago.migrations order by number',
  );
  return found.rows;
}

function checkHistory(applied: readonly AppliedMigration[], known: readonly Migration[]): void {
  for (const [index, entry] of applied.entries()) {
    const migration = known[index];
    if (migration === undefined) {
      throw new ImagoError(
        'database-version',
        `The database has migration ${entry.number} (${entry.name}), and this version of Imago knows ${known.length} only.`,
        { hint: 'Use a newer version of Imago with this database.' },
      );
    }
    if (migration.number !== entry.number || checksum(migration) !== entry.checksum) {
      throw new ImagoError(
        'database-version',
        `Migration ${entry.number} (${entry.name}) of the database is not the one that this version of Imago has.`,
      );
    }
  }
}

function checksum(migration: Migration): string {
  return createHash('sha256')
    .update(`${migration.number}\n${migration.name}\n${migration.sql}`)
    .digest('hex');
}
