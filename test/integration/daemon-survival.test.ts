// What the daemon and its database live through: each kill is `kill -9`, at no chosen moment.
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { dirname } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { isSameProcess } from '../../src/host/process/identity.ts';
import { daemonFile, logOf, processOf, type Status, statusOf, untilGone } from '../support/daemon.ts';
import { createImago, type Imago, recipe } from '../support/imago.ts';
import { until } from '../support/until.ts';

let imago: Imago;
let first: Status;

beforeEach(async () => {
  imago = await createImago();
  await imago.writeFile('imago.yaml', recipe);
  await imago.json(['build']);
  first = await statusOf(imago);
});

afterEach(() => imago.end());

async function images(): Promise<number> {
  const { items } = await imago.json<{ items: unknown[] }>(['image', 'list']);
  return items.length;
}

describe('kill -9', () => {
  test('of the daemon: the next command starts another, which adopts PostgreSQL and knows everything', async () => {
    process.kill(first.daemon.pid, 'SIGKILL');
    expect(await images()).toBe(1);
    const now = await statusOf(imago);
    expect(now.daemon.pid).not.toBe(first.daemon.pid);
    expect(now.database.pid).toBe(first.database.pid);
    expect(now.daemon.epoch).toBeGreaterThan(first.daemon.epoch ?? 0);
    expect(logOf(imago.home)).toContain('adopted the running PostgreSQL');
  });

  test('of PostgreSQL: the daemon begins again in its own process, and starts it', async () => {
    const daemon = processOf(first.daemon.pid);
    const database = processOf(first.database.pid);
    process.kill(database.pid, 'SIGKILL');
    await until('the daemon has noticed', () => logOf(imago.home).includes('restarting in place'));
    expect(await images()).toBe(1);
    const now = await statusOf(imago);
    expect(isSameProcess(daemon)).toBe(true);
    expect(now.daemon.pid).toBe(daemon.pid);
    expect(now.database.pid).not.toBe(database.pid);
    expect(now.daemon.epoch).toBeGreaterThan(first.daemon.epoch ?? 0);
  });

  test('of both: the next command brings both back', async () => {
    process.kill(first.daemon.pid, 'SIGKILL');
    process.kill(first.database.pid ?? 0, 'SIGKILL');
    expect(await images()).toBe(1);
    const now = await statusOf(imago);
    expect(now.daemon.pid).not.toBe(first.daemon.pid);
    expect(now.database.pid).not.toBe(first.database.pid);
  });

  test('of PostgreSQL five times in a row: it comes back each time', async () => {
    for (let round = 0; round < 5; round += 1) {
      const { database } = await until('the database answers', async () => {
        const status = await statusOf(imago);
        return status.database.state === 'ready' && status;
      });
      const victim = processOf(database.pid);
      process.kill(victim.pid, 'SIGKILL');
      await untilGone(victim);
    }
    await until('it answers again', async () => (await images()) === 1);
    expect((await statusOf(imago)).daemon.pid).toBe(first.daemon.pid);
  });
});

test('every connection to PostgreSQL is cut: the daemon begins again, with a new epoch', async () => {
  const daemon = processOf(first.daemon.pid);
  const { Client } = (await import('pg')).default;
  const password = readFileSync(`${imago.home}/postgres/password`, 'utf8').trim();
  const client = new Client({
    host: first.sockets.database ?? '',
    user: 'imago',
    database: 'postgres',
    password,
  });
  await client.connect();
  await client.query("select pg_terminate_backend(pid) from pg_stat_activity where datname = 'imago'");
  await client.end();
  await until('the daemon has noticed', () => logOf(imago.home).includes('restarting in place'));
  expect(await images()).toBe(1);
  const now = await statusOf(imago);
  expect(isSameProcess(daemon)).toBe(true);
  expect(now.database.pid).toBe(first.database.pid);
  expect(now.daemon.epoch).toBeGreaterThan(first.daemon.epoch ?? 0);
});

test('the folder of the sockets is removed: the daemon makes it anew, and PostgreSQL gets its socket back', async () => {
  const folders = [dirname(first.sockets.api), first.sockets.database ?? ''];
  for (const folder of folders) rmSync(folder, { recursive: true });
  await until('the sockets are back', () => folders.every((folder) => existsSync(folder)));
  expect(await images()).toBe(1);
  expect((await statusOf(imago)).daemon.pid).toBe(first.daemon.pid);
});

test('the record of the daemon is removed: the daemon writes it again', async () => {
  rmSync(`${imago.home}/daemon.json`);
  await until('it is back', () => daemonFile(imago.home));
  expect((await statusOf(imago)).daemon.pid).toBe(first.daemon.pid);
});

test('the state folder is removed: nothing is left running for nothing', async () => {
  const processes = [processOf(first.daemon.pid), processOf(first.database.pid)];
  rmSync(imago.home, { recursive: true, maxRetries: 20 });
  await untilGone(...processes);
  expect(existsSync(dirname(first.sockets.api))).toBe(false);
});
