// What other users of this host reach of a machine, and what a machine's own processes reach: for a daemon of an
// ordinary user, and for a daemon that is root, whose machines run as another user. Only firmware and a boot sector run.
import { spawn, spawnSync } from 'node:child_process';
import { existsSync, lstatSync, readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { chmod, mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { HostMachine } from '../../src/providers/local/qemu/machine-host.ts';
import { makeBootSectorDisk } from '../support/boot-sector.ts';
import { type ChildUser, childUser, type HostChild, startHostChild } from '../support/host-child.ts';
import { createImago } from '../support/imago.ts';
import { canBeOrdinary } from '../support/ordinary-user.ts';
import { patience } from '../support/speed.ts';

const stranger = 47_103;
const machineUid = 47_104;

let folder: string;
let who: ChildUser;
let hosts: HostChild[];

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'imc-'));
  hosts = [];
});

afterEach(async () => {
  await hosts
    .at(-1)
    ?.call('close', { leaveRunning: false, deadlineMs: 1 })
    .catch(() => undefined);
  for (const host of hosts) await host.kill();
  await rm(folder, { recursive: true, force: true });
});

async function prepare(asRoot: boolean): Promise<number> {
  if (asRoot) {
    await chmod(folder, 0o755);
    who = { user: undefined, give: async () => undefined };
  } else who = await childUser(folder);
  for (const name of ['host', 's', 'machines', 'images']) {
    await mkdir(join(folder, name), { mode: 0o700 });
    await who.give(join(folder, name));
  }
  return asRoot ? machineUid : (who.user?.uid ?? 0);
}

async function openHost(): Promise<HostChild> {
  const env = who.user === undefined ? { MACHINE_UID: String(machineUid) } : {};
  const host = startHostChild(who, join(folder, 'host'), join(folder, 's'), env);
  hosts.push(host);
  await host.call('adopt');
  return host;
}

async function machine(id: string, change: Partial<HostMachine> = {}): Promise<HostMachine> {
  const place = join(folder, 'machines', id);
  await mkdir(place, { mode: 0o700 });
  const disk = join(place, 'disk.qcow2');
  const backing = join(folder, 'images', `${id}.raw`);
  await makeBootSectorDisk(disk, 'writes', backing);
  await chmod(backing, 0o400);
  for (const path of [place, join(folder, 'images')]) await who.give(path);
  return {
    ...{ id, folder: place, disk, backing, boot: { kind: 'bios' }, cpus: 1, memoryMb: 64 },
    network: { pool: 'blue', forwards: [] },
    metadata: {
      ...{ machineId: `11111111-2222-4333-8444-00000000000${id.length}`, name: id, size: 'small' },
      ...{ region: 'local', userData: '', tags: {} },
      image: { gallery: 'g', image: 'i', version: '1.0.0', digest: 'sha256:0' },
    },
    ...change,
  };
}

/** All processes of the machine: QEMU, the shell around it, and the programs that carry what it sends. */
function processesOf(qemu: number): number[] {
  const sessionOf = (pid: number) => /\) \S \d+ \d+ (\d+) /.exec(readText(`/proc/${pid}/stat`))?.[1];
  const pids = readdirSync('/proc').map(Number).filter(Number.isInteger);
  return pids.filter((pid) => sessionOf(pid) === sessionOf(qemu));
}

function readText(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}

/** The inodes of the sockets that a process has open. */
function socketsOf(pid: number): string[] {
  const fds = `/proc/${pid}/fd`;
  return readdirSync(fds)
    .map((fd) => (existsSync(fds) ? /^socket:\[(\d+)\]$/.exec(safeLink(join(fds, fd)))?.[1] : undefined))
    .filter((inode) => inode !== undefined);
}

function safeLink(path: string): string {
  try {
    return readlinkSync(path);
  } catch {
    return '';
  }
}

function everythingIn(path: string): string[] {
  const found = readdirSync(path, { recursive: true, withFileTypes: true });
  return found.map((entry) => join(entry.parentPath, entry.name));
}

/** The paths that a user can do this with, as the kernel says when it is tried. */
function allowed(uid: number, attempt: 'connect' | 'read' | 'create', paths: readonly string[]): string[] {
  const attempts = {
    connect:
      'grep { my $path = $_; grep { socket my $s, 1, $_, 0; connect $s, pack_sockaddr_un $path } 1, 2 } @ARGV',
    read: 'grep { sysopen my $f, $_, 2048 or opendir my $d, $_ } @ARGV',
    create: 'grep { my $p = "$_/planted"; sysopen my $f, $p, 0101 and unlink $p } @ARGV',
  };
  const program = `use Socket; print join "\\n", ${attempts[attempt]}`;
  const { stdout } = spawnSync('perl', ['-e', program, ...paths], { uid, gid: uid, encoding: 'utf8' });
  return stdout.split('\n').filter((line) => line !== '');
}

async function until(isSo: () => Promise<boolean> | boolean): Promise<void> {
  await expect.poll(isSo, { timeout: patience(60_000) }).toBe(true);
}

describe.runIf(canBeOrdinary).each([
  ['an ordinary user', false],
  ['root', true],
] as const)('a machine of a pool whose daemon belongs to %s', (_name, asRoot) => {
  it('has no process with the rights of root, works, and is found again by the next daemon', async () => {
    const uid = await prepare(asRoot);
    const first = await openHost();
    const spec = await machine('one');
    await first.call('start', spec);
    const { pid = 0 } = await first.call('status', 'one');
    await until(() => processesOf(pid).length >= 6);
    for (const member of processesOf(pid)) {
      const status = readText(`/proc/${member}/status`);
      if (status === '') continue;
      expect(/^Uid:\s(.*)$/m.exec(status)?.[1]).toBe(Array(4).fill(uid).join('\t'));
      expect(/^Gid:\s(.*)$/m.exec(status)?.[1]).not.toMatch(/\b0\b/);
      expect(/^Groups:\s(.*)$/m.exec(status)?.[1]?.trim()).toBe('');
      expect(/^CapEff:\s(.*)$/m.exec(status)?.[1]).toMatch(/^0+$/);
    }
    expect(/^Seccomp:\s(\d)/m.exec(readText(`/proc/${pid}/status`))?.[1]).toBe('2');

    await first.kill();
    const second = await openHost();
    expect(await second.call('status', 'one')).toMatchObject({ state: 'running', pid });
    await until(async () => (await second.call('console', 'one', 10)).includes('w'));
    const relay = spawn('/bin/sh', ['relay.sh', 'imds'], { uid, gid: uid, cwd: spec.folder });
    relay.stdin.end('GET /metadata/versions HTTP/1.1\r\nHost: any\r\nMetadata: true\r\n\r\n');
    expect(await text(relay.stdout)).toContain('HTTP/1.1 200');
    await second.call('remove', 'one');
    expect(readdirSync(spec.folder).sort()).toEqual(['disk.qcow2']);
    expect(readdirSync(join(folder, 's'))).toEqual([]);
  });

  it('has nothing that another user can open, and no port that one could send to', async () => {
    await prepare(asRoot);
    const host = await openHost();
    for (const id of ['one', 'second']) await host.call('start', await machine(id));
    const pids: number[] = [];
    for (const { pid = 0 } of await host.call('list')) {
      await until(() => processesOf(pid).length >= 6);
      pids.push(...processesOf(pid));
    }
    const open = new Set(pids.flatMap(socketsOf));
    for (const kind of ['udp', 'udp6', 'tcp', 'tcp6', 'raw', 'packet'])
      expect([kind, ...inodesIn(kind).filter((inode) => open.has(inode))]).toEqual([kind]);
    const names = readText('/proc/net/unix')
      .split('\n')
      .map((line) => line.trim().split(/\s+/))
      .filter(([, , , , , , inode = '']) => open.has(inode))
      .flatMap((words) => words[7] ?? []);
    expect(names.filter((name) => !name.startsWith(folder))).toEqual([]);

    const paths = ['s', 'machines', 'images', 'host'].flatMap((name) => everythingIn(join(folder, name)));
    const sockets = paths.filter((path) => lstatSync(path).isSocket());
    expect(sockets.length).toBeGreaterThanOrEqual(2 * 8);
    expect(allowed(0, 'connect', sockets).length).toBeGreaterThanOrEqual(2 * 6);
    expect(allowed(stranger, 'connect', sockets)).toEqual([]);
    const readable = allowed(stranger, 'read', paths);
    expect(readable.filter((path) => !/-host\/\w+\.(pl|mjs)$/.test(path))).toEqual([]);
  });
});

describe.runIf(canBeOrdinary)('the user that the machines of root run as', () => {
  it('cannot put a name where root would follow it', async () => {
    const uid = await prepare(true);
    const host = await openHost();
    const { folder: own } = await machineStarted(host);
    const folders = [folder, ...everythingIn(folder)].filter((path) => lstatSync(path).isDirectory());
    const writable = allowed(uid, 'create', folders);
    expect(writable.map((path) => path.slice(folder.length)).sort()).toEqual([
      expect.stringMatching(/^\/s\/[0-9a-f]{12}$/),
      expect.stringMatching(/^\/s\/pool-[0-9a-f]+$/),
    ]);
    expect(existsSync(own)).toBe(true);
  });

  it('does not have root enter a folder of its own when it cleans up, which could become a link', async () => {
    const uid = await prepare(true);
    const host = await openHost();
    await machineStarted(host);
    const [key = ''] = readdirSync(join(folder, 's')).filter((name) => /^[0-9a-f]{12}$/.test(name));
    const place = join(folder, 's', key);
    const plant = 'mkdir nested && touch nested/file && ln -s /etc link';
    expect(spawnSync('sh', ['-c', plant], { uid, gid: uid, cwd: place }).status).toBe(0);
    await host.call('remove', 'one');
    expect(readdirSync(place, { recursive: true }).sort()).toEqual(['nested', 'nested/file']);
  });
});

describe.runIf(canBeOrdinary)('a daemon that is root', () => {
  it('runs machines as the user for them, from a state folder that this user cannot enter', async () => {
    const imago = await createImago();
    const env = { IMAGO_PROVIDER: 'local', IMAGO_MACHINE_USER: 'nobody' };
    const pids: number[] = [];
    try {
      const image = join(imago.folder, 'disk.raw');
      await makeBootSectorDisk(join(imago.folder, 'disk.qcow2'), 'writes', image);
      await imago.json(['image', 'import', image, '--name', 'system', '--os', 'windows'], { env });
      const create = ['pool', 'create', 'web', '--image', 'system:1.0.0', '--nodes', '1', '--no-wait'];
      await imago.json(create, { env });
      const machines = join(imago.home, 'local', 'machines');
      await until(() => existsSync(machines) && readdirSync(machines).length === 1);
      const own = join(machines, readdirSync(machines)[0] ?? '');
      await until(() => readText(join(own, 'console.log')) !== '');
      pids.push(Number(readText(join(own, 'qemu.pid'))));
      for (const pid of pids.flatMap(processesOf))
        expect(/^Uid:\s(\d+)/m.exec(readText(`/proc/${pid}/status`))?.[1]).toBe('65534');
      expect(allowed(65_534, 'read', [imago.home, machines, own])).toEqual([]);
    } finally {
      for (const pid of pids) process.kill(pid, 'SIGKILL');
      await imago.end();
    }
  });
});

async function machineStarted(host: HostChild): Promise<HostMachine> {
  const spec = await machine('one');
  await host.call('start', spec);
  const { pid = 0 } = await host.call('status', 'one');
  await until(() => processesOf(pid).length >= 6);
  return spec;
}

function inodesIn(kind: string): string[] {
  const at = kind === 'packet' ? 8 : 9;
  return readText(`/proc/net/${kind}`)
    .split('\n')
    .slice(1)
    .flatMap((line) => line.trim().split(/\s+/)[at] ?? []);
}
