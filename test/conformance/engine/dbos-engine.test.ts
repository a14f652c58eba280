// The engine on DBOS and a real PostgreSQL, under the suite that all engines pass.
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openStore } from '../../../src/database/open-database.ts';
import type { Engine } from '../../../src/ports/workflow/engine.ts';
import { createDbosEngine, type DbosEngineOptions } from '../../../src/workflow/engine/dbos/engine.ts';
import { administer, type StoreBench, startStoreBench } from '../../support/store.ts';
import { describeEngine } from './engine-suite.ts';

let bench: StoreBench;
let template: string;

beforeAll(async () => {
  bench = await startStoreBench();
  template = await bench.freshDatabase();
  const store = openStore({ url: template, epoch: 0 });
  const signal = new AbortController().signal;
  const engine = createDbosEngine({ databaseUrl: template, calls: store.calls, signal });
  await engine.start(async () => undefined);
  await engine.stop();
  await store.close();
});

afterAll(() => bench?.stop());

/** A database with the tables of the engine and no runs. */
function freshDatabase(): Promise<string> {
  return bench.postgres.freshDatabase(template);
}

describeEngine('on DBOS', async () => {
  const databaseUrl = await freshDatabase();
  const { calls } = await bench.freshStore({ url: databaseUrl });
  let lease = new AbortController();
  return {
    async open() {
      lease = new AbortController();
      return createDbosEngine({ databaseUrl, calls, signal: lease.signal, patienceMs: 100 });
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

describe('the engine on DBOS', () => {
  async function engineOn(databaseUrl: string, rest: Partial<DbosEngineOptions> = {}): Promise<Engine> {
    const { calls } = await bench.freshStore({ url: databaseUrl });
    const { signal } = new AbortController();
    return createDbosEngine({ databaseUrl, calls, signal, patienceMs: 100, ...rest });
  }

  /** Leaves a run unfinished that waits for a message. */
  async function leaveUnfinished(databaseUrl: string): Promise<void> {
    const engine = await engineOn(databaseUrl);
    const waiting = Promise.withResolvers<void>();
    await engine.start(async (run) => {
      await run.step('one', async () => null);
      waiting.resolve();
      await run.waitFor('go', 60_000);
    });
    await engine.enqueue('a', { key: 'a' });
    await waiting.promise;
    await engine.stop();
  }

  async function finish(engine: Engine): Promise<void> {
    const ended = Promise.withResolvers<void>();
    await engine.start(async (run) => {
      await run.step('one', async () => null);
      await run.waitFor('go', 60_000);
      ended.resolve();
    });
    await engine.send('a', 'go', true);
    const asking = setInterval(() => engine.enqueue('a', { key: 'a' }).catch(() => undefined), 100);
    await ended.promise;
    clearInterval(asking);
    await engine.stop();
  }

  it('refuses a second one in the same process, and leaves the first alone', async () => {
    const first = await engineOn(await freshDatabase());
    const second = await engineOn(await freshDatabase());
    const ran = Promise.withResolvers<void>();
    await first.start(async () => ran.resolve());
    await expect(second.start(async () => undefined)).rejects.toMatchObject({ code: 'internal' });
    await second.stop();
    await first.enqueue('a', { key: 'a' });
    await ran.promise;
    await first.stop();
  });

  it('can be started again after the database could not be reached', async () => {
    const nowhere = `postgresql://imago@localhost/none?host=${encodeURIComponent('/nowhere')}`;
    const failed = await engineOn(nowhere);
    await expect(failed.start(async () => undefined)).rejects.toThrow();
    const engine = await engineOn(await freshDatabase());
    const ran = Promise.withResolvers<void>();
    await engine.start(async () => ran.resolve());
    await failed.stop();
    await engine.enqueue('a', { key: 'a' });
    await ran.promise;
    await engine.stop();
  });

  it('never gives a run up, however often it was recovered', async () => {
    const url = await freshDatabase();
    await leaveUnfinished(url);
    await administer(url, 'update dbos.workflow_status set recovery_attempts = 100000');
    await finish(await engineOn(url));
  });

  it('asks again for a run that DBOS claimed and lost', async () => {
    const url = await freshDatabase();
    await leaveUnfinished(url);
    await administer(url, `update dbos.workflow_status set executor_id = 'nobody', status = 'PENDING'`);
    await finish(await engineOn(url, { handOverMs: 500 }));
  });
});
