// The connections that DBOS works with. DBOS asks again after a lost connection, but knows only some of the
// ways in which Node tells of one: writing to a socket whose other end has gone (EPIPE) is none of them.
import pg from 'pg';
import type { EngineLog } from './dbos-log.ts';

export function createEnginePool(connectionString: string, max: number, log: EngineLog): pg.Pool {
  const pool = new pg.Pool({ connectionString, max, Client: EngineClient });
  pool.on('error', (error) => log('warn', `DBOS lost an idle connection: ${error.message}`));
  return pool;
}

type QueryArguments = Parameters<pg.Client['query']>;
type QueryCallback = (error: unknown, result: unknown) => void;

class EngineClient extends pg.Client {
  override query(...given: unknown[]): never {
    const last = given.at(-1);
    if (typeof last === 'function') {
      const callback = last as QueryCallback;
      given[given.length - 1] = (error: unknown, result: unknown) => callback(asLost(error), result);
    }
    const answer: unknown = super.query(...(given as QueryArguments));
    const told = answer instanceof Promise ? answer.catch((error) => Promise.reject(asLost(error))) : answer;
    return told as never;
  }
}

/** The same error, under the code by which DBOS knows a lost connection. */
function asLost(error: unknown): unknown {
  if (error instanceof Error && 'code' in error && error.code === 'EPIPE') error.code = 'ECONNRESET';
  return error;
}
