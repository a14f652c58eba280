// DBOS's words in the daemon's log. What it says at every start and stop is left out.
import type { DbosModule } from './workflows.ts';

export type EngineLog = (level: 'info' | 'warn' | 'error', line: string) => void;

type DbosLogger = NonNullable<Parameters<DbosModule['DBOS']['setConfig']>[0]['logger']>;

/** Asking for a run twice and stopping while some run are nothing to warn of: that is how it is meant. */
const everyday = /already exists in queue|^Shutting down while/;

export function dbosLogger(log: EngineLog): DbosLogger {
  return {
    debug: () => undefined,
    info: () => undefined,
    warn(entry) {
      if (!everyday.test(String(entry))) log('warn', `DBOS: ${String(entry)}`);
    },
    error: (entry) => log('error', `DBOS: ${String(entry)}`),
  };
}
