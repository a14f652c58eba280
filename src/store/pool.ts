// The driver's pool as Kysely sees it: errors are in Imago's words, and a connection on which something went
// wrong below SQL is thrown away instead of being used again.
import type { PostgresPool, PostgresPoolClient } from 'kysely';
import { Pool, type PoolClient } from 'pg';
import { clientConfig, type SessionSettings } from './connection.ts';
import { asStoreError, isConnectionLoss } from './errors.ts';

export interface PoolOptions {
  readonly url: string;
  readonly settings: SessionSettings;
  readonly size: number;
}

// Longer than PostgreSQL's own limit for a statement, so that it only strikes when the server does not answer.
const statementDeadlineMs = 60_000;
const silenceDeadlineMs = statementDeadlineMs + 15_000;
const idleMs = 30_000;

export function openPool({ url, settings, size }: PoolOptions): PostgresPool {
  const pool = new Pool({
    ...clientConfig(url, {
      statement_timeout: String(statementDeadlineMs),
      lock_timeout: '30s',
      ...settings,
    }),
    max: size,
    idleTimeoutMillis: idleMs,
    query_timeout: silenceDeadlineMs,
  });
  // A connection that breaks while nobody uses it; the pool replaces it.
  pool.on('error', () => undefined);
  const known = new WeakMap<PoolClient, PostgresPoolClient>();

  async function connect(): Promise<PostgresPoolClient> {
    const client = await pool.connect().catch((error) => {
      throw asStoreError(error);
    });
    const wrapped = known.get(client) ?? wrapClient(client);
    known.set(client, wrapped);
    return wrapped;
  }

  return { connect, end: () => pool.end(), options: {} };
}

function wrapClient(client: PoolClient): PostgresPoolClient {
  let broken = false;
  // Between two queries of a transaction nobody else listens, and an error without a listener ends the process.
  client.on('error', () => {
    broken = true;
  });
  async function query(text: string, parameters: readonly unknown[]): Promise<unknown> {
    try {
      return await client.query(text, [...parameters]);
    } catch (error) {
      const said = asStoreError(error);
      broken ||= isConnectionLoss(said);
      throw said;
    }
  }
  return {
    query: query as PostgresPoolClient['query'],
    release: (destroy) => client.release(destroy === true || broken),
  };
}
