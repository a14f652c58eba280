// Starting and stopping: one daemon for each state folder, and nothing left of it.
import { spawn } from 'node:child_process';
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { isSameProcess } from '../../src/host/process/identity.ts';
import { daemonCommand } from '../../src/launcher/spawn.ts';
import { daemonFile, isRoot, processOf, statusOf, untilGone } from '../support/daemon.ts';
import { createImago, type Imago } from '../support/imago.ts';
import { until } from '../support/until.ts';

let imago: Imago;
const bystanders: (() => void)[] = [];

async function begin(): Promise<void> {
  imago = await createImago();
}

async function end(): Promise<void> {
  await imago.end();
  for (const stop of bystanders.splice(0)) stop();
}

/** A process that has nothing to do with Imago. */
function bystander() {
  const child = spawn('sleep', ['600'], { stdio: 'ignore' });
  bystanders.push(() => child.kill('SIGKILL'));
  return processOf(child.pid);
}

function allPids(): readonly number[] {
  const file = daemonFile(imago.home);
  return [file?.process.pid, file?.postgres?.pid].filter((pid) => pid !== undefined);
}

describe('up', () => {
  beforeEach(begin);
  afterEach(end);

  test('five at once start one daemon', async () => {
    const starts = await Promise.all(
      Array.from({ length: 5 }, () => imago.json<{ pid: number; started: boolean }>(['up'])),
    );
    expect(new Set(starts.map(({ pid }) => pid)).size).toBe(1);
    expect(starts.filter(({ started }) => started)).toHaveLength(1);
  });

  test('a pid of somebody else in the record is neither trusted nor touched', async () => {
    await imago.json(['up']);
    const file = daemonFile(imago.home);
    const victims = [processOf(file?.process.pid), processOf(file?.postgres?.pid)];
    for (const { pid } of victims) process.kill(pid, 'SIGKILL');
    await untilGone(...victims);

    const innocent = bystander();
    const record = { ...file, process: { ...file?.process, pid: innocent.pid } };
    writeFileSync(join(imago.home, 'daemon.json'), JSON.stringify(record));
    const lockFile = join(imago.home, 'postgres', 'data', 'postmaster.pid');
    writeFileSync(lockFile, readFileSync(lockFile, 'utf8').replace(/^\d+/, String(innocent.pid)));

    expect(await imago.json(['up'])).toMatchObject({ started: true });
    await imago.json(['down']);
    expect(isSameProcess(innocent)).toBe(true);
  });
});

describe('down', () => {
  beforeEach(begin);
  afterEach(end);

  test('leaves no process, socket or record, and the next up finds everything', async () => {
    await imago.json(['up']);
    const { sockets } = await statusOf(imago);
    const processes = allPids().map(processOf);
    expect(processes).toHaveLength(2);
    await imago.json(['down']);
    expect(processes.filter(isSameProcess)).toEqual([]);
    for (const path of [dirname(sockets.api), sockets.database ?? '', join(imago.home, 'daemon.json')]) {
      expect(existsSync(path)).toBe(false);
    }
    expect(await imago.json(['up'])).toMatchObject({ started: true });
  });

  test('when nothing runs says so, twice', async () => {
    expect(await imago.json(['down'])).toEqual({ forced: false });
    await imago.json(['up']);
    await imago.json(['down']);
    expect(await imago.json(['down'])).toEqual({ forced: false });
  });

  test('ends a daemon that hangs', async () => {
    await imago.json(['up']);
    const processes = allPids().map(processOf);
    const { pid } = processOf(daemonFile(imago.home)?.process.pid);
    process.kill(pid, 'SIGSTOP');
    expect(await imago.json(['down'])).toMatchObject({ daemon: pid, forced: true });
    expect(processes.filter(isSameProcess)).toEqual([]);
  });

  test('ends the PostgreSQL that a killed daemon left', async () => {
    await imago.json(['up']);
    const processes = allPids().map(processOf);
    process.kill(processes[0]?.pid ?? 0, 'SIGKILL');
    expect(await imago.json(['down'])).toMatchObject({ postgres: processes[1]?.pid });
    expect(processes.filter(isSameProcess)).toEqual([]);
  });

  test('in the middle of a start leaves nothing either', async () => {
    const starting = imago.start(['up']);
    const file = await until('the daemon is there', () => daemonFile(imago.home));
    await imago.json(['down']);
    await starting.finished;
    expect(isSameProcess(file.process)).toBe(false);
    expect(allPids()).toEqual([]);
  });

  test.each(['SIGTERM', 'SIGINT'] as const)('%s to the daemon does the same', async (signal) => {
    await imago.json(['up']);
    const processes = allPids().map(processOf);
    process.kill(processes[0]?.pid ?? 0, signal);
    await untilGone(...processes);
    expect(daemonFile(imago.home)).toBeUndefined();
  });
});

describe('a daemon that runs', () => {
  beforeAll(async () => {
    await begin();
    await imago.json(['up', '--listen', '127.0.0.1:0']);
  });
  afterAll(end);

  test('a second daemon for the same state folder is refused, and the first goes on', async () => {
    const { pid } = (await statusOf(imago)).daemon;
    const [program = '', ...args] = daemonCommand();
    const second = spawn(program, args, {
      env: { ...process.env, IMAGO_HOME: imago.home, IMAGO_PROVIDER: 'sim' },
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    let said = '';
    second.stderr.setEncoding('utf8').on('data', (chunk: string) => {
      said += chunk;
    });
    const code = await new Promise((resolve) => second.once('close', resolve));
    expect(code).toBe(4);
    expect(said).toContain(`(process ${pid}) is already running`);
    expect((await statusOf(imago)).daemon.pid).toBe(pid);
  });

  test('with other flags than the running daemon has is refused', async () => {
    const { code, err } = await imago.run(['up', '--listen', '127.0.0.1:1']);
    expect(code).toBe(4);
    expect(err).toMatch(/--listen 127\.0\.0\.1:1/);
    expect(err).toMatch(/hint: .*imago down/);
  });

  test('on a TCP port tells the port that it really has', async () => {
    const { listen } = await statusOf(imago);
    expect(listen).toMatch(/^127\.0\.0\.1:[1-9]\d*$/);
    const answer = await fetch(`http://${listen}/v1/status`);
    expect(answer.status).toBe(401);
  });

  test('on a TCP port that is taken says so, and leaves nothing running', async () => {
    const { listen = '' } = await statusOf(imago);
    const other = await createImago();
    try {
      const { code, err } = await other.run(['up', '--listen', listen]);
      expect(code).toBe(2);
      expect(err).toContain('another process uses it');
      expect(daemonFile(other.home)).toBeUndefined();
    } finally {
      await other.end();
    }
  });

  test('everything is closed to others, and PostgreSQL is not root', async () => {
    const { sockets, database } = await statusOf(imago);
    const closed = [
      imago.home,
      dirname(sockets.api),
      sockets.database ?? '',
      join(imago.home, 'postgres', 'data'),
    ];
    for (const folder of closed) expect(statSync(folder).mode & 0o777).toBe(0o700);
    expect(statSync(join(imago.home, 'postgres', 'password')).mode & 0o777).toBe(0o600);
    const uid = Number(/^Uid:\s+(\d+)/m.exec(readFileSync(`/proc/${database.pid}/status`, 'utf8'))?.[1]);
    expect(uid).not.toBe(0);
    expect(uid === process.getuid?.()).toBe(!isRoot);
    const listening = readFileSync(`/proc/${database.pid}/net/unix`, 'utf8');
    expect(listening).toContain(`${sockets.database}/.s.PGSQL.5432`);
  });

  test('PostgreSQL lets nobody in without the password, and listens on no port', async () => {
    const { sockets } = await statusOf(imago);
    const { Client } = (await import('pg')).default;
    const connection = { host: sockets.database ?? '', user: 'imago', database: 'imago' };
    const stranger = new Client({ ...connection, password: 'guess' });
    await expect(stranger.connect()).rejects.toThrow(/password authentication failed/);
    const password = readFileSync(join(imago.home, 'postgres', 'password'), 'utf8').trim();
    const owner = new Client({ ...connection, password });
    await owner.connect();
    try {
      const settings = await owner.query(
        "select name, setting from pg_settings where name in ('listen_addresses', 'fsync', 'full_page_writes', 'synchronous_commit') order by name",
      );
      expect(settings.rows.map(({ setting }) => setting)).toEqual(['on', 'on', '', 'on']);
    } finally {
      await owner.end();
    }
  });
});
