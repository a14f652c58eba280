// The connections of DBOS. DBOS retries after a lost connection, but recognizes only some of the errors that Node
// reports for one: not a missing socket (ENOENT), nor a closed one (EPIPE).
import pg from 'pg';
import type { EngineLog } from './workflows.ts';

const connectDeadlineMs = 10_000;

/** A process that froze during a write must not hold its locks, and dead clients must be noticed. */
const sessionSettings = [
  'idle_in_transaction_session_timeout=30s',
  'tcp_keepalives_idle=5',
  'tcp_keepalives_interval=2',
  'tcp_keepalives_count=3',
] as const;

/** Returns the URL of the database with the settings of every session. */
export function engineUrl(databaseUrl: string): string {
  const url = new URL(databaseUrl);
  const given = url.searchParams.get('options') ?? '';
  const options = [given, ...sessionSettings.map((setting) => `-c ${setting}`)].join(' ').trim();
  url.searchParams.set('options', options);
  return url.toString().replaceAll('+', '%20');
}

export function createEnginePool(connectionString: string, max: number, log: EngineLog): pg.Pool {
  const pool = new pg.Pool({
    ...{ connectionString, max, Client: EngineClient },
    connectionTimeoutMillis: connectDeadlineMs,
    application_name: 'imago-engine',
    keepAlive: true,
  });
  pool.on('error', (error) => log('warn', `DBOS lost an idle connection: ${error.message}`));
  return pool;
}

type Callback = (error: unknown, ...rest: unknown[]) => void;

class EngineClient extends pg.Client {
  override connect(...given: unknown[]): never {
    return translated((all) => super.connect(...(all as Parameters<pg.Client['connect']>)), given);
  }

  override query(...given: unknown[]): never {
    return translated((all) => super.query(...(all as Parameters<pg.Client['query']>)), given);
  }
}

/** Calls with a callback as the last argument, or for a promise, and translates the error in both cases. */
function translated(call: (given: unknown[]) => unknown, given: unknown[]): never {
  const last = given.at(-1);
  if (typeof last === 'function') {
    const callback = last as Callback;
    given = given.with(-1, (error: unknown, ...rest: unknown[]) => callback(asLost(error), ...rest));
  }
  const answer = call(given);
  if (!(answer instanceof Promise)) return answer as never;
  return answer.catch((error) => Promise.reject(asLost(error))) as never;
}

/** Returns the same error, with the code of a lost connection that DBOS recognizes. */
export function asLost(error: unknown): unknown {
  if (error instanceof Error && isLoss(error)) Object.assign(error, { code: 'ECONNRESET' });
  return error;
}

/** Returns whether the system reports a socket error, or the driver an abandoned connection. */
function isLoss(error: Error): boolean {
  if ('code' in error && typeof error.code === 'string') return /^E[A-Z]+$/.test(error.code);
  return /connection terminated|not queryable|timeout expired/i.test(error.message);
}
