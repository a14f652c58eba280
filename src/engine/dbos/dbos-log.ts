// DBOS's words in the daemon's log. What it says at every start is left out.
import type { DbosModule } from './workflows.ts';

export type EngineLog = (level: 'info' | 'warn' | 'error', line: string) => void;

type DbosLogger = NonNullable<Parameters<DbosModule['DBOS']['setConfig']>[0]['logger']>;

export function dbosLogger(log: EngineLog): DbosLogger {
  return {
    debug: () => undefined,
    info: () => undefined,
    warn: (entry) => log('warn', `DBOS: ${String(entry)}`),
    error: (entry) => log('error', `DBOS: ${String(entry)}`),
  };
}
