// The daemon, the database, or both are killed at any moment of a long operation: no completed step runs
// again, none is lost, and the one under way runs again at most once for each kill.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { patience } from '../support/speed.ts';
import { administer, type StoreBench, startStoreBench } from '../support/store.ts';
import { killAllWorkers, ledgerFaults, readLedger, startWorker, type Worker } from './engine-crew.ts';
import { leaseLostCode, stepNames, type WorkerOptions } from './engine-worker.ts';

const soak = process.env.IMAGO_SOAK === '1';
const randomKills = soak ? 150 : 10;
/** In the soak the first kills all hit one step: past the 100 recoveries after which DBOS gives up by default. */
const killsOfOneStep = soak ? 110 : 0;
const stepMs = soak ? 300 : 120;
const minute = 60_000;

let bench: StoreBench;
let folder: string;
let tests = 0;

beforeAll(async () => {
  bench = await startStoreBench({ fsync: true });
  folder = mkdtempSync(join(tmpdir(), 'imago-ledger-'));
});

afterEach(killAllWorkers);

afterAll(async () => {
  await bench?.stop();
  rmSync(folder, { recursive: true, force: true });
});

async function situation(stepMs: number): Promise<WorkerOptions> {
  tests += 1;
  const url = await bench.freshDatabase();
  return { url, ledger: join(folder, `ledger-${tests}`), operation: `op-${tests}`, stepMs };
}

function expectWhole(worker: Worker, options: WorkerOptions, kills: number): void {
  expect(ledgerFaults(readLedger(options.ledger), kills)).toEqual([]);
  const record = worker.record();
  expect(record).toMatchObject({
    state: 'succeeded',
    exceptions: [],
    result: { name: 'step-12', seen: stepNames.slice(0, -1) },
  });
  for (const step of record?.steps ?? []) {
    const begins = readLedger(options.ledger).filter(
      (line) => line.act === 'begin' && line.step === step.name,
    );
    expect(step.state).toBe('done');
    expect(step.attempts).toBeGreaterThanOrEqual(begins.length);
  }
}

it('survives a kill at every step boundary, while the clock jumps from one process to the next', {
  timeout: patience(5 * minute),
}, async () => {
  const options = await situation(10);
  const moments = ['before', 'within', 'after'];
  for (const [place, name] of stepNames.entries()) {
    const clockMs = (place % 3 === 0 ? 1 : -1) * place * 3_600_000;
    const worker = startWorker({ ...options, clockMs, dieAt: `${moments[place % 3]} ${name}` });
    expect(await worker.ended, worker.errors()).toBe('SIGKILL');
  }
  const last = startWorker(options);
  expect(await last.ended, last.errors()).toBe(0);
  expectWhole(last, options, stepNames.length);
});

it(`survives ${randomKills} kills of the daemon, of PostgreSQL and of both at random moments`, {
  timeout: patience((soak ? 60 : 5) * minute),
}, async () => {
  let options = await situation(stepMs);
  let kills = 0;
  for (let total = 0; total < randomKills; ) {
    const worker = startWorker(options);
    const withinMs = total < killsOfOneStep ? stepMs / 2 : stepMs * 5;
    const outcome = await killAtRandom(worker, options, total % 3, withinMs);
    if (outcome === 'killed') {
      kills += 1;
      total += 1;
      continue;
    }
    expectWhole(worker, options, kills);
    options = await situation(stepMs);
    kills = 0;
  }
  const last = startWorker(options);
  expect(await last.ended, last.errors()).toBe(0);
  expectWhole(last, options, kills);
});

/** 0: the daemon dies, 1: the database, 2: both. `ended` when the operation ended before the chosen moment. */
async function killAtRandom(
  worker: Worker,
  options: WorkerOptions,
  victim: number,
  withinMs: number,
): Promise<'killed' | 'ended'> {
  const lines = readLedger(options.ledger).length;
  const ended = worker.ended.then(() => true);
  while (readLedger(options.ledger).length === lines) {
    if (await Promise.race([ended, sleep(10, false)])) break;
  }
  const over = await Promise.race([ended, sleep(Math.random() * withinMs, false)]);
  if (over) {
    expect(await worker.ended, worker.errors()).toBe(0);
    return 'ended';
  }
  if (victim === 0) await worker.kill();
  if (victim === 1) await bench.postgres.kill();
  if (victim === 2) await Promise.all([worker.kill(), bench.postgres.kill()]);
  if (victim !== 0) await bench.postgres.start();
  if (victim === 1) expect([0, leaseLostCode], worker.errors()).toContain(await worker.ended);
  return 'killed';
}

it('hands over to a second daemon when the first one dies', { timeout: patience(2 * minute) }, async () => {
  const options = await situation(150);
  const first = startWorker(options);
  await first.said('active');
  const second = startWorker(options);
  await second.said('standing by');
  await first.wrote(5);
  await first.kill();
  expect(await second.ended, second.errors()).toBe(0);
  expectWhole(second, options, 1);
  expect(new Set(readLedger(options.ledger).map((line) => line.pid)).size).toBe(2);
});

it('does nothing twice when the lock’s connection is cut while a step runs', {
  timeout: patience(2 * minute),
}, async () => {
  const options = await situation(600);
  const first = startWorker(options);
  await first.said('active');
  const second = startWorker(options);
  await second.said('standing by');
  await first.wrote(3);
  await sleep(200);
  await administer(
    options.url,
    `select pg_terminate_backend(pid) from pg_locks where locktype = 'advisory' and granted and objid = 1
     and database = (select oid from pg_database where datname = current_database())`,
  );
  expect(await first.ended, first.errors()).toBe(leaseLostCode);
  expect(await second.ended, second.errors()).toBe(0);
  expectWhole(second, options, 1);
  const acts = readLedger(options.ledger).filter((line) => line.act === 'do');
  expect(acts.map((line) => line.step)).toEqual(stepNames);
});

it('goes on through a restart of PostgreSQL', { timeout: patience(2 * minute) }, async () => {
  const options = await situation(100);
  let worker = startWorker(options);
  await worker.wrote(9);
  await bench.postgres.restart();
  const code = await worker.ended;
  if (code !== 0) {
    expect(code, worker.errors()).toBe(leaseLostCode);
    worker = startWorker(options);
    expect(await worker.ended, worker.errors()).toBe(0);
  }
  expectWhole(worker, options, 1);
});

it('lets new code finish what old code began: a step inserted, one renamed, one removed', {
  timeout: patience(2 * minute),
}, async () => {
  for (const [dieAt, expected] of [
    ['after step-5', stepNames.filter((name) => name !== 'step-9')],
    ['within step-7', stepNames.filter((name) => name !== 'step-9')],
    ['after step-9', stepNames],
  ] as const) {
    const options = await situation(10);
    const old = startWorker({ ...options, code: 'old', dieAt });
    expect(await old.ended, old.errors()).toBe('SIGKILL');
    const worker = startWorker({ ...options, code: 'new' });
    expect(await worker.ended, worker.errors()).toBe(0);
    expect(worker.record()).toMatchObject({ state: 'succeeded', exceptions: [] });
    const done = new Set(readLedger(options.ledger).map((line) => line.step.replace('better-', 'step-')));
    expect([...done]).toEqual(expected.filter((name) => dieAt !== 'after step-9' || done.has(name)));
    expect(done.has('inserted')).toBe(false);
  }
});
