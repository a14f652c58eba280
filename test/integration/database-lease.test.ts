// One active daemon for each database, and the next one takes over only when the last one cannot act any more.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { connectClient } from '../../src/database/connection/connection.ts';
import { acquireLease, type LeaseOptions } from '../../src/database/lease/lease.ts';
import type { Lease } from '../../src/ports/database/lease.ts';
import { startPostgres, type TestPostgres } from '../support/postgres.ts';
import { administer, cutConnections } from '../support/store.ts';
import { until } from '../support/until.ts';

let postgres: TestPostgres;
const leases: Lease[] = [];
const children: ChildProcess[] = [];

beforeAll(async () => {
  postgres = await startPostgres();
});

afterEach(async () => {
  for (const child of children.splice(0)) {
    child.kill('SIGKILL');
    if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
  }
  await Promise.all(leases.splice(0).map((lease) => lease.release()));
});

afterAll(() => postgres.stop());

async function acquire(url: string, options: Partial<LeaseOptions> = {}): Promise<Lease> {
  const lease = await acquireLease({ connect: () => connectClient(url), ...options });
  leases.push(lease);
  return lease;
}

/** A holder in a process of its own, and what it said so far. */
async function startHolder(url: string, firstWord: string): Promise<{ child: ChildProcess; said: string[] }> {
  const child = spawn(process.execPath, [join(import.meta.dirname, '../support/lease-holder.ts'), url], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  children.push(child);
  const said: string[] = [];
  const reader = createInterface({ input: child.stdout });
  reader.on('line', (line) => said.push(line));
  while (!said.some((line) => line.startsWith(firstWord)))
    await Promise.race([once(reader, 'line'), failed(child)]);
  return { child, said };
}

async function failed(child: ChildProcess): Promise<never> {
  await once(child, 'exit');
  throw new Error('the holder ended before it spoke');
}

async function aborted(signal: AbortSignal): Promise<unknown> {
  if (!signal.aborted) await once(signal, 'abort');
  return signal.reason;
}

const timing = { beatMs: 50, beatDeadlineMs: 1_000, graceMs: 1_500, tryMs: 20 };

test('the epoch grows with every daemon that becomes active', async () => {
  const url = await postgres.freshDatabase();
  const first = await acquire(url);
  await first.release();
  const second = await acquire(url);
  expect([first.epoch, second.epoch]).toEqual([1, 2]);
  expect(first.signal.aborted).toBe(true);
  expect(second.signal.aborted).toBe(false);
});

test('two that start at once on an empty database: one acts, the other says that it stands by', async () => {
  const url = await postgres.freshDatabase();
  let waiting = 0;
  const onWaiting = () => {
    waiting += 1;
  };
  const [one, two] = [acquire(url, { onWaiting, timing }), acquire(url, { onWaiting, timing })];
  const first = await Promise.race([one, two]);
  await until('the other one stands by', () => waiting > 0);
  expect(first.epoch).toBe(1);
  await first.release();
  const both = await Promise.all([one, two]);
  expect(both.map(({ epoch }) => epoch).sort()).toEqual([1, 2]);
  expect(waiting).toBe(1);
});

test('waiting ends when it is told to', async () => {
  const url = await postgres.freshDatabase();
  await acquire(url);
  const stop = new AbortController();
  const waiting = acquire(url, { signal: stop.signal, onWaiting: () => stop.abort(new Error('enough')) });
  await expect(waiting).rejects.toThrow();
  const connections = await administer<{ count: number }>(
    url,
    'select count(*) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()',
  );
  expect(connections[0]?.count).toBe(1);
});

test('a holder whose connection is cut knows it at once', async () => {
  const url = await postgres.freshDatabase();
  const lease = await acquire(url);
  await cutConnections(url);
  expect(await aborted(lease.signal)).toMatchObject({ code: 'owner-stale' });
});

test('a holder whose database does not answer gives up by itself', async () => {
  const url = await postgres.freshDatabase();
  const lease = await acquire(url, { timing });
  const blocker = await connectClient(url);
  await blocker.query('begin');
  await blocker.query('lock table imago.lease in access exclusive mode');
  expect(await aborted(lease.signal)).toMatchObject({ code: 'owner-stale' });
  await blocker.end();
});

test('a holder that finds a later epoch gives up', async () => {
  const url = await postgres.freshDatabase();
  const lease = await acquire(url, { timing });
  await administer(url, 'update imago.lease set epoch = epoch + 1');
  expect(await aborted(lease.signal)).toMatchObject({ code: 'owner-stale' });
});

test('the database restarts: the holder loses its lease, and gets a greater epoch without waiting', async () => {
  const url = await postgres.freshDatabase();
  const lease = await acquire(url);
  await postgres.restart();
  await aborted(lease.signal);
  const again = await acquire(url, { timing: { ...timing, graceMs: 3_600_000 } });
  expect(again.epoch).toBe(lease.epoch + 1);
});

test('one that stands by outlives a restart of the database', async () => {
  const url = await postgres.freshDatabase();
  await startHolder(url, 'active');
  const waits = Promise.withResolvers<void>();
  const waiting = acquire(url, { onWaiting: waits.resolve, timing: { ...timing, graceMs: 0 } });
  await waits.promise;
  await postgres.restart();
  expect((await waiting).epoch).toBe(2);
});

test('the holder is killed: the one that stands by takes over without waiting for it', async () => {
  const url = await postgres.freshDatabase();
  const { child } = await startHolder(url, 'active 1');
  const waits = Promise.withResolvers<void>();
  const waiting = acquire(url, { onWaiting: waits.resolve, timing: { ...timing, graceMs: 3_600_000 } });
  await waits.promise;
  child.kill('SIGKILL');
  expect((await waiting).epoch).toBe(2);
});

test('a holder that lives but lost its connection is given the time to notice', async () => {
  const url = await postgres.freshDatabase();
  const { child, said } = await startHolder(url, 'active 1');
  child.kill('SIGSTOP');
  await cutConnections(url);
  const [former] = await administer<{ beat_at: string }>(url, 'select beat_at from imago.lease');
  const lease = await acquire(url, { timing });
  const [after] = await administer<{ now: string }>(url, 'select clock_timestamp() as now');
  expect(Date.parse(after?.now ?? '') - Date.parse(former?.beat_at ?? '')).toBeGreaterThanOrEqual(
    timing.graceMs,
  );
  expect(lease.epoch).toBe(2);
  child.kill('SIGCONT');
  await until('the holder knows that it lost the lease', () => said.includes('lost'));
});

test('a holder that ends while it is given that time is not waited for any longer', async () => {
  const url = await postgres.freshDatabase();
  const { child } = await startHolder(url, 'active 1');
  child.kill('SIGSTOP');
  await cutConnections(url);
  const waiting = acquire(url, { timing: { ...timing, graceMs: 3_600_000 } });
  await until('the lease has a new epoch', async () => {
    const [lease] = await administer<{ epoch: number }>(url, 'select epoch from imago.lease');
    return lease?.epoch === 2;
  });
  await sleep(50);
  child.kill('SIGKILL');
  expect((await waiting).epoch).toBe(2);
});

test('a holder that is frozen is cut off, and finds that out when it wakes', async () => {
  const url = await postgres.freshDatabase();
  const { child, said } = await startHolder(url, 'active 1');
  child.kill('SIGSTOP');
  const lease = await acquire(url, { timing: { ...timing, frozenTries: 10, graceMs: 100 } });
  expect(lease.epoch).toBe(2);
  child.kill('SIGCONT');
  await until('the holder knows that it lost the lease', () => said.includes('lost'));
  expect(lease.signal.aborted).toBe(false);
});

test.each([
  ['ahead', "clock_timestamp() + interval '1 year'"],
  ['back', "clock_timestamp() - interval '1 year'"],
])('a clock that jumped %s does not keep the next daemon out', async (_, beat) => {
  const url = await postgres.freshDatabase();
  const lease = await acquire(url);
  await lease.release();
  await administer(url, `update imago.lease set released = false, holder = '{}', beat_at = ${beat}`);
  const next = await acquire(url, { timing: { ...timing, graceMs: 100 } });
  expect(next.epoch).toBe(2);
});

test('a database that is not there is said at once, not waited for', async () => {
  const nowhere = 'postgresql://imago@localhost/imago?host=%2Fnonexistent';
  await expect(acquire(nowhere)).rejects.toMatchObject({ code: 'database-unreachable' });
});
