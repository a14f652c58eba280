// The life of a machine's process: no system is started in it, only its firmware, which finds nothing to start.

import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, rm, truncate, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { runTool } from '../../src/host/process/run-tool.ts';
import type { HostMachine } from '../../src/providers/local/qemu/machine-host.ts';
import { makeBootSectorDisk } from '../support/boot-sector.ts';
import { type ChildUser, childUser, type HostChild, startHostChild } from '../support/host-child.ts';
import { until } from '../support/until.ts';

let folder: string;
let hosts: HostChild[];
let who: ChildUser;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'imh-'));
  hosts = [];
  who = await childUser(folder);
  for (const name of ['host', 's']) {
    await mkdir(join(folder, name));
    await who.give(join(folder, name));
  }
});

afterEach(async () => {
  await hosts
    .at(-1)
    ?.call('close', { leaveRunning: false, deadlineMs: 1 })
    .catch(() => undefined);
  for (const host of hosts) await host.kill();
  await rm(folder, { recursive: true, force: true });
});

async function openHost(env: Readonly<Record<string, string>> = {}): Promise<HostChild> {
  const host = startHostChild(who, join(folder, 'host'), join(folder, 's'), env);
  hosts.push(host);
  await host.call('adopt');
  return host;
}

async function machine(id: string, change: Partial<HostMachine> = {}): Promise<HostMachine> {
  const place = join(folder, id);
  await mkdir(place, { recursive: true });
  const disk = join(place, 'disk.qcow2');
  await runTool('qemu-img', ['create', '-q', '-f', 'qcow2', disk, '1M']);
  await who.give(place);
  return {
    ...{ id, folder: place, disk, boot: { kind: 'bios' }, cpus: 1, memoryMb: 64 },
    network: { forwards: [] },
    metadata: {
      machineId: '11111111-2222-4333-8444-555555555555',
      name: id,
      size: 'small',
      region: 'local',
      image: { gallery: 'g', image: 'i', version: '1.0.0', digest: 'sha256:0' },
      userData: '',
      tags: {},
    },
    ...change,
  };
}

function alive(pid: number | undefined): boolean {
  try {
    return pid !== undefined && readFileSync(`/proc/${pid}/cmdline`, 'utf8') !== '';
  } catch {
    return false;
  }
}

function listenOn(port: number): Promise<{ readonly server: Server; readonly port: number }> {
  const server = createServer();
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, '127.0.0.1', () => {
      const address = server.address();
      resolve({ server, port: typeof address === 'object' && address !== null ? address.port : 0 });
    });
  });
}

describe('a machine of an ordinary user', () => {
  it('is started once however often it is asked for, and outlives a daemon that is killed', async () => {
    const first = await openHost();
    const spec = await machine('one', { network: { forwards: [{ guestPort: 22 }] } });
    await Promise.all([first.call('start', spec), first.call('start', spec)]);
    const before = await first.call('status', 'one');
    expect(before).toMatchObject({ state: 'running', forwards: [{ guestPort: 22 }] });
    const uid = who.user?.uid ?? process.getuid?.();
    expect(/^Uid:\s+(\d+)/m.exec(readFileSync(`/proc/${before.pid}/status`, 'utf8'))?.[1]).toBe(String(uid));

    await first.kill();
    expect(alive(before.pid)).toBe(true);
    const second = await openHost();
    expect(await second.call('status', 'one')).toEqual(before);
    await second.call('start', spec);
    expect((await second.call('status', 'one')).pid).toBe(before.pid);

    process.kill(before.pid ?? 0, 'SIGKILL');
    await until('the second sees a state', () => second.events.some(({ kind }) => kind === 'state'), 20);
    expect(await second.call('status', 'one')).toMatchObject({
      state: 'failed',
      end: { kind: 'crashed', message: expect.stringContaining('killed') },
    });
  });

  it('that ended while no daemon was there is known to have ended, and how', async () => {
    const first = await openHost();
    await first.call('start', await machine('gone'));
    await first.call('start', await machine('left'));
    const { pid } = await first.call('status', 'gone');
    await first.kill();
    process.kill(pid ?? 0, 'SIGTERM');
    await until('the process is gone', () => !alive(pid), 20);
    const second = await openHost();
    expect(await second.call('list')).toMatchObject([
      { id: 'gone', state: 'stopped', end: { kind: 'powered-off' } },
      { id: 'left', state: 'running' },
    ]);
  });

  it('is not confused with another process that has its pid by now', async () => {
    const first = await openHost();
    const spec = await machine('reused');
    await first.call('start', spec);
    await first.call('kill', 'reused');
    await first.kill();
    const record = join(folder, 'host', 'machines');
    const [name = ''] = await readdir(record);
    const { end, ...rest } = JSON.parse(readFileSync(join(record, name), 'utf8')) as Record<string, unknown>;
    expect(end).toMatchObject({ kind: 'stopped' });
    await writeFile(join(record, name), JSON.stringify({ ...rest, startedAt: '2020-01-01T00:00:00.000Z' }));
    await writeFile(join(spec.folder, 'qemu.pid'), `${process.pid}\n`);
    await rm(join(spec.folder, 'qemu.exit'));
    const second = await openHost();
    expect(await second.call('status', 'reused')).toMatchObject({
      state: 'failed',
      end: { kind: 'crashed' },
    });
    await second.call('remove', 'reused');
    expect(alive(process.pid)).toBe(true);
  });

  it('that does not hear the power button is ended by force, and leaves nothing when it is removed', async () => {
    const host = await openHost();
    const spec = await machine('deaf', { boot: { kind: 'uefi' } });
    await host.call('start', spec);
    const { pid } = await host.call('status', 'deaf');
    expect(await host.call('stop', 'deaf', { deadlineMs: 200 })).toEqual({ forced: true });
    expect(alive(pid)).toBe(false);
    expect(await host.call('status', 'deaf')).toMatchObject({ state: 'stopped', end: { kind: 'stopped' } });
    expect(await host.call('stop', 'deaf', { deadlineMs: 200 })).toEqual({ forced: false });

    await host.call('start', spec);
    await host.call('remove', 'deaf');
    await host.call('remove', 'deaf');
    expect(await host.call('status', 'deaf')).toEqual({ id: 'deaf', state: 'absent', forwards: [] });
    expect(await readdir(spec.folder)).toEqual(['disk.qcow2']);
    expect(await readdir(join(folder, 's'))).toEqual([]);
    expect(await readdir(join(folder, 'host', 'machines'))).toEqual([]);
  });

  it('has a console that is cut when it grows too long', async () => {
    const host = await openHost();
    const spec = await machine('loud');
    await host.call('start', spec);
    const log = join(spec.folder, 'console.log');
    // Only the last of it makes it too long: what is being written while it is cut would be lost.
    const lines = `${'x'.repeat(99)}\n`;
    await writeFile(log, lines.repeat(83_800), { flag: 'a' });
    appendFileSync(log, lines.repeat(1000));
    await until('the log is empty', () => readFileSync(log).length === 0, 20);
    expect(await host.call('console', 'loud', 3)).toEqual(Array(3).fill('x'.repeat(99)));
    await truncate(join(spec.folder, 'console.before.log'), 0);
    await writeFile(log, 'one\r\n\u001b[31mtwo\u001b[0m\u0007\n', { flag: 'a' });
    expect(await host.call('console', 'loud', 10)).toEqual(['one', 'two']);
  });
});

describe('what cannot be started is told, and nothing of it is left', () => {
  async function expectNothingLeft(host: HostChild, spec: HostMachine, code: string): Promise<void> {
    await expect(host.call('start', spec)).rejects.toMatchObject({ code });
    expect(await host.call('status', spec.id)).toMatchObject({
      state: 'failed',
      end: { kind: 'not-started' },
    });
    expect(
      existsSync(join(spec.folder, 'qemu.pid')) && alive(Number(readFileSync(join(spec.folder, 'qemu.pid')))),
    ).toBe(false);
    expect(await readdir(join(folder, 's'))).toEqual([]);
  }

  it('a port that is taken; and it starts when the port is free', async () => {
    const host = await openHost();
    const { server, port } = await listenOn(0);
    const spec = await machine('port', { network: { forwards: [{ guestPort: 22, hostPort: port }] } });
    await expectNothingLeft(host, spec, 'machine-port-taken');
    await new Promise((resolve) => server.close(resolve));
    await host.call('start', spec);
    expect(await host.call('status', 'port')).toMatchObject({ state: 'running' });
  });

  it('no memory, a disk that is none, and a disk that another machine has', async () => {
    const host = await openHost();
    await expectNothingLeft(
      host,
      await machine('big', { memoryMb: 64 * 1024 * 1024 }),
      'machine-start-failed',
    );
    const broken = await machine('broken');
    await writeFile(broken.disk, 'no disk');
    await expectNothingLeft(host, broken, 'machine-start-failed');
    const owner = await machine('owner');
    const thief = await machine('thief', { disk: owner.disk });
    await host.call('start', owner);
    await expect(host.call('start', thief)).rejects.toThrow(/another process has the machine's disk open/);
  });

  it('QEMU that is missing', async () => {
    const host = await openHost({ IMAGO_QEMU: join(folder, 'no-qemu') });
    const spec = await machine('without');
    await expect(host.call('start', spec)).rejects.toMatchObject({ code: 'tool-missing' });
    expect(await host.call('list')).toEqual([]);
  });
});

describe('a machine that runs', () => {
  async function started(
    id: string,
    program: Parameters<typeof makeBootSectorDisk>[1],
    qemu = '',
  ): Promise<{ readonly host: HostChild; readonly spec: HostMachine }> {
    const host = await openHost(qemu === '' ? {} : { IMAGO_QEMU: await standIn(qemu) });
    const spec = await machine(id);
    await makeBootSectorDisk(spec.disk, program);
    await who.give(spec.folder);
    await host.call('start', spec);
    return { host, spec };
  }

  async function standIn(script: string): Promise<string> {
    const path = join(folder, 'qemu');
    await writeFile(path, `#!/bin/sh\n${script}\nexec qemu-system-x86_64 "$@"\n`, { mode: 0o755 });
    return path;
  }

  const halts = (host: HostChild) =>
    host.events.flatMap((event) => (event.kind === 'state' ? [event.status.halt?.kind] : []));

  it('and cannot write stands still, is found so by the next daemon, and goes on when it can', async () => {
    const { host, spec } = await started('stuck', 'writes', "trap '' XFSZ; ulimit -S -f 2048");
    await until('it halts', () => halts(host).includes('disk-error'), 180);
    await host.kill();
    const second = await openHost();
    const status = await second.call('status', 'stuck');
    expect(status).toMatchObject({
      state: 'running',
      halt: { kind: 'disk-error', message: expect.stringContaining('cannot be written') },
    });
    const written = (await second.call('console', 'stuck', 10_000)).length;
    expect(written).toBeGreaterThan(0);
    const unlimit = ['prlimit', `--pid=${status.pid}`, '--fsize=unlimited'] as const;
    const [program, ...words] = who.user?.run(...unlimit) ?? unlimit;
    await runTool(program, words);
    const goesOn = async () => (await second.call('status', 'stuck')).halt === undefined;
    await until('it continues', goesOn, 180);
    const more = async () => (await second.call('console', 'stuck', 10_000)).length > written;
    await until('it writes more', more, 180);
    expect(readFileSync(join(spec.folder, 'console.log'), 'utf8')).not.toContain('e');
  });

  it('and finds the disk of the computer full says so, and goes on by itself', async () => {
    const { host } = await started('full', 'writes', noSpaceOnce);
    await until('it halts', () => halts(host).includes('disk-full'), 180);
    await until('it continues', () => halts(host).at(-1) === undefined, 180);
    expect(await host.call('console', 'full', 10_000)).not.toContain('e');
  });

  it('has said nothing yet when it has restarted itself', async () => {
    const { host, spec } = await started('restless', 'restarts');
    const report = {
      schema: 1,
      phase: 'ready',
      at: new Date().toISOString(),
      bootId: 'b',
      agentVersion: '1',
    };
    const lists = { steps: [], timeline: [], pending: [] };
    appendFileSync(join(spec.folder, 'report.jsonl'), `${JSON.stringify({ ...report, ...lists })}\n`);
    const told = (kind: string) => host.events.findIndex((event) => event.kind === kind);
    await until(
      'it restarts after its report',
      () => told('restarted') > told('report') && told('report') >= 0,
      180,
    );
    expect(await host.call('report', 'restless')).toBeUndefined();
    expect(await host.call('status', 'restless')).toMatchObject({ state: 'running' });
  });

  it('and does not hear the power button at first hears it when it is pressed again', async () => {
    const { host } = await started('drowsy', 'hearsSecondPress');
    expect(await host.call('stop', 'drowsy', { deadlineMs: 120_000 })).toEqual({ forced: false });
    expect(await host.call('status', 'drowsy')).toMatchObject({ state: 'stopped', end: { kind: 'stopped' } });
    expect(await host.call('console', 'drowsy', 10)).toEqual(['p', 'p']);
  });
});

/** QEMU's own way to make one write fail as on a full disk. */
const noSpaceOnce = `left=$#
while [ "$left" -gt 0 ]; do
  word=$(printf %s "$1" | sed 's/^\\(driver=qcow2,.*\\)file.driver=file,file.filename=/\\1file.driver=blkdebug,file.inject-error.0.event=write_aio,file.inject-error.0.errno=28,file.inject-error.0.once=on,file.image.driver=file,file.image.filename=/')
  shift
  set -- "$@" "$word"
  left=$((left - 1))
done`;
