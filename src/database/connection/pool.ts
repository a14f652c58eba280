// The driver's pool as Kysely sees it: errors are errors of Imago, and a connection on which something went
// wrong below SQL is thrown away instead of being used again.
import { createHash } from 'node:crypto';
import { type PostgresPool, type PostgresPoolClient, sql } from 'kysely';
import { Pool, type PoolClient } from 'pg';
import { clientConfig, type SessionSettings } from './connection.ts';
import { asStoreError, isConnectionLoss, sqlState } from './errors.ts';

export interface PoolOptions {
  readonly url: string;
  readonly settings: SessionSettings;
  readonly size: number;
}

// Longer than PostgreSQL's own limit for a statement, so that it only strikes when the server does not answer.
const statementDeadlineMs = 60_000;
const silenceDeadlineMs = statementDeadlineMs + 15_000;
const idleMs = 30_000;

/**
 * Begins statements that are executed repeatedly: PostgreSQL reads and plans them once for each connection, which
 * takes longer than they do. Only for texts that never change, and whose plan does not depend on what they ask for.
 */
export const planOnce = sql`/* plan once */`;
const planOnceText = '/* plan once */';
const planOutdated = '0A000';
const statementNames = new Map<string, string>();

function statementName(text: string): string | undefined {
  if (!text.startsWith(planOnceText)) return undefined;
  const known = statementNames.get(text);
  if (known !== undefined) return known;
  const name = createHash('sha256').update(text).digest('hex').slice(0, 32);
  statementNames.set(text, name);
  return name;
}

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
  // A connection that breaks while it is idle is replaced. Between two queries, and just after it was opened,
  // only we listen, and an error without a listener would end the process; the next query reports it.
  pool.on('error', () => undefined);
  pool.on('connect', (client) => client.on('error', () => undefined));
  const known = new WeakMap<PoolClient, PostgresPoolClient>();

  async function connect(): Promise<PostgresPoolClient> {
    const client = await connectMapped(pool);
    const wrapped = known.get(client) ?? wrapClient(client);
    known.set(client, wrapped);
    return wrapped;
  }

  return { connect, end: () => pool.end(), options: {} };
}

/** A URL that cannot be read is thrown immediately, everything else later. */
async function connectMapped(pool: Pool): Promise<PoolClient> {
  try {
    return await pool.connect();
  } catch (error) {
    throw asStoreError(error);
  }
}

function wrapClient(client: PoolClient): PostgresPoolClient {
  let broken = false;
  client.on('error', () => {
    broken = true;
  });
  async function ask(text: string, values: unknown[]): Promise<unknown> {
    const name = statementName(text);
    if (name === undefined) return client.query(text, values);
    try {
      return await client.query({ name, text, values });
    } catch (error) {
      // A newer daemon has added columns since: the old plan is refused, and the text is as good as ever.
      if (sqlState(error) !== planOutdated) throw error;
      return client.query(text, values);
    }
  }
  async function query(text: string, parameters: readonly unknown[]): Promise<unknown> {
    try {
      return await ask(text, [...parameters]);
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
