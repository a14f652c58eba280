// The engine on DBOS and a real PostgreSQL, under the suite that all engines pass.
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll } from 'vitest';
import { createDbosEngine } from '../../../src/engine/dbos/dbos-engine.ts';
import { startPostgres, type TestPostgres } from '../../support/postgres.ts';
import { describeEngine } from './engine-suite.ts';

let postgres: TestPostgres;
let template: string;

beforeAll(async () => {
  postgres = await startPostgres();
  template = await postgres.freshDatabase();
  const engine = createDbosEngine({ databaseUrl: template, signal: new AbortController().signal });
  await engine.start(async () => undefined);
  await engine.stop();
});

afterAll(async () => {
  await postgres?.stop();
});

describeEngine('on DBOS', async () => {
  const databaseUrl = await postgres.freshDatabase(template);
  let lease = new AbortController();
  return {
    async open() {
      lease = new AbortController();
      return createDbosEngine({ databaseUrl, signal: lease.signal, patienceMs: 100 });
    },
    async crash(engine) {
      lease.abort(new Error('The lease is lost.'));
      await engine.stop();
    },
    pass: (ms) => sleep(ms),
    now: () => Date.now(),
    close: async () => undefined,
  };
});
