// An ordinary user's way with real machines, from ./quickstart in a tree of his own to the last command: what lives
// through the death of the daemon, and the stories of the catalogue that need real machines. One after the other,
// for each stands on what the one before has left, and a machine takes its time to start.

import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import {
  identifyProcess,
  type ProcessIdentity,
  signalProcess,
  waitForExit,
} from '../../src/host/process/identity.ts';
import { type FileServer, startFileServer } from '../support/file-server.ts';
import { createOrdinaryImago, type OrdinaryImago } from '../support/ordinary-imago.ts';
import { patience } from '../support/speed.ts';
import { until } from '../support/until.ts';

interface NodeView {
  readonly name: string;
  readonly power: string;
  readonly state: string;
  readonly machineId: string;
  readonly version: string;
}

const fixed = '#!/bin/sh\necho "hotfix 1.0.2"\n';
const shown = { first: '', second: '' };
let imago: OrdinaryImago;
let server: FileServer;
let recipes: string;

beforeAll(async () => {
  imago = createOrdinaryImago({ ownTree: true });
  server = await startFileServer();
  server.files.set('/hello', fixed);
  recipes = join(imago.userHome, 'recipes');
  await imago.program('mkdir', recipes);
});

afterAll(async () => {
  await imago.run('pool', 'delete', 'web', '--yes');
  await imago.end();
  await server.close();
});

async function nodes(): Promise<readonly NodeView[]> {
  return (await imago.json<{ items: readonly NodeView[] }>('node', 'list', '--pool', 'web')).items;
}

async function model(): Promise<string> {
  return (await imago.json<{ version: string }>('pool', 'show', 'web')).version;
}

async function production(): Promise<string> {
  return (await imago.json<{ version: string }>('resolve', 'first-node:production')).version;
}

/** The machines' processes that live. */
function machines(): readonly ProcessIdentity[] {
  const folder = join(imago.home, 'local', 'machines');
  if (!existsSync(folder)) return [];
  return readdirSync(folder).flatMap((id) => {
    const file = join(folder, id, 'qemu.pid');
    if (!existsSync(file)) return [];
    return identifyProcess(Number.parseInt(readFileSync(file, 'utf8'), 10)) ?? [];
  });
}

async function killDaemon(): Promise<void> {
  const { daemon } = await imago.json<{ daemon: { pid: number } }>('status');
  const found = identifyProcess(daemon.pid);
  if (found === undefined) throw new Error('There is no daemon.');
  signalProcess(found, 'SIGKILL');
  await waitForExit(found, patience(10_000));
}

/** The boots of the stories take another ten minutes, emulated. */
const soak = process.env.IMAGO_SOAK === '1';

/** Runs to success, and gives what it printed. */
async function succeed(...words: readonly string[]): Promise<string> {
  const { code, out, err } = await imago.run(...words);
  expect(code, `imago ${words.join(' ')}: ${out}${err}`).toBe(0);
  return out;
}

it(
  './quickstart builds, tests and promotes an image, starts three machines, and changes one as it runs',
  async () => {
    const { code, out, err } = await imago.program(join(imago.tree, 'quickstart'), '--keep');
    expect(code, `${out.slice(-3000)}${err.slice(-3000)}`).toBe(0);
    expect(out).toMatch(/first-node:production points to/);
    expect(out).toMatch(/Pool web has 3 nodes/);
    expect(out.match(/^reference +first-node:production$/gm)?.length).toBeGreaterThanOrEqual(3);
    expect(out).toMatch(/was ready after/);
    expect(out.match(/1 of 1 nodes have the config/g)).toHaveLength(2);
    expect(out).toMatch(/What to try next|what to try next/);
    const all = await nodes();
    shown.first = await production();
    expect(all.map(({ power, state, version }) => ({ power, state, version }))).toEqual(
      Array(3).fill({ power: 'running', state: 'ready', version: shown.first }),
    );
    expect(machines()).toHaveLength(3);
    const [process] = machines();
    const status = readFileSync(`/proc/${process?.pid}/status`, 'utf8');
    const uid = Number(/^Uid:\t(\d+)/m.exec(status)?.[1]);
    expect(uid, 'machines are an ordinary user’s').not.toBe(0);
  },
  patience(1_800_000),
);

it('a killed daemon leaves the machines, and the next one has them', async () => {
  const [before, all] = [machines(), await nodes()];
  await killDaemon();
  expect(machines()).toEqual(before);
  await succeed('up', '--listen', '127.0.0.1:0');
  expect(await nodes()).toEqual(all);
  expect(machines()).toEqual(before);
});

it.runIf(soak)(
  '(soak) a hotfix reaches the nodes through their config, and the next version has absorbed it',
  async () => {
    await succeed('pool', 'scale', 'web', '--nodes', '1');
    const { port } = new URL(server.address);
    await succeed(
      ...['node', 'config', 'hotfix', 'web', '--component', 'hello', '--version', '1.0.2', '--cost', 'live'],
      ...['--to', '/usr/local/bin/hello', '--source', `http://168.63.129.1:${port}/hello`],
      ...['--sha256', createHash('sha256').update(fixed).digest('hex')],
    );
    expect(server.asked).toContain('/hello');
    const text = readFileSync(join(imago.tree, 'examples/quickstart/imago.yaml'), 'utf8');
    const component = [
      'components:',
      '  - name: hello',
      '    version: 1.0.2',
      '    from:',
      '      file: hello',
      '    to: /usr/local/bin/hello',
    ];
    writeFileSync(join(recipes, 'imago.yaml'), `${text}${component.join('\n')}\n`);
    writeFileSync(join(recipes, 'hello'), fixed, { mode: 0o755 });
    const built = await imago.json<{ version: string }>('build', join(recipes, 'imago.yaml'));
    shown.second = built.version;
    const notes = await imago.json<{ hotfixes: unknown }>('image', 'notes', `first-node:${shown.second}`);
    expect(notes.hotfixes).toEqual([{ name: 'hello', version: '1.0.2' }]);
  },
);

it.runIf(soak)(
  '(soak) a new one is staged, tested and approved by another, and only then promoted; new nodes are made from it',
  async () => {
    const version = `first-node:${shown.second}`;
    const policy = join(imago.folder, 'policy.yaml');
    writeFileSync(
      policy,
      'version: 1\nchannels:\n  production:\n    approvals: {count: 1, role: publisher}\n',
    );
    await succeed('policy', 'set', policy, '--reason', 'another one looks at what goes to production');
    await succeed('channel', 'promote', version, '--to', 'staging', '--reason', 'next');
    const promote = ['channel', 'promote', version, '--to', 'production', '--reason', 'next'];
    expect((await imago.run(...promote)).code, 'neither tested nor approved').toBe(4);
    await succeed('test', version);
    expect((await imago.run(...promote)).code, 'not approved').toBe(4);
    const { listen } = await imago.json<{ listen: string }>('status');
    const token = await succeed('token', 'create', '--owner', 'bob', '--role', 'publisher', '-o', 'name');
    const asBob = [`IMAGO_URL=http://${listen}`, `IMAGO_TOKEN=${token.trim()}`];
    const approve = ['image', 'approve', version, '--to', 'production'];
    const approved = await imago.program('env', ...asBob, join(imago.tree, 'bin/imago'), ...approve);
    expect(approved.code, approved.err).toBe(0);
    await succeed(...promote);
    await until('the pool follows', async () => (await model()) === shown.second);
    expect((await nodes()).map((node) => node.version)).toEqual([shown.first]);
    await succeed('pool', 'scale', 'web', '--nodes', '2');
    expect((await nodes()).map((node) => node.version).sort()).toEqual([shown.first, shown.second].sort());
  },
  1_800_000,
);

it.runIf(soak)(
  '(soak) a broken one is out in one command: no new node is made from it, and those that run it are replaced',
  async () => {
    const version = `first-node:${shown.second}`;
    await succeed('image', 'withdraw', version, '--reason', 'nodes lose their network', '--replace', '--yes');
    expect(await production()).toBe(shown.first);
    expect(await model()).toBe(shown.first);
    const all = await nodes();
    expect(all.map((node) => [node.version, node.state])).toEqual([
      [shown.first, 'ready'],
      [shown.first, 'ready'],
    ]);
    const refused = await imago.run('pool', 'create', 'new', '--image', version, '--nodes', '1');
    expect(refused.code).toBe(4);
    expect(machines()).toHaveLength(2);
  },
);

it.runIf(soak)(
  '(soak) one that goes out of support is deprecated; down leaves machines when it is told to, and nothing ends them',
  async () => {
    const version = `first-node:${shown.first}`;
    const before = machines();
    await succeed('support', 'set', 'image', version, '--ends', '2026-01-31', '--note', 'our own promise');
    await succeed('down', '--leave-machines');
    expect(machines()).toEqual(before);
    await succeed('up');
    const state = () => imago.json<{ state: string; reason?: string }>('image', 'show', version);
    await until('it is deprecated', async () => (await state()).state === 'deprecated', 120);
    expect(await state()).toMatchObject({ reason: expect.stringContaining('2026-01-31') });
    expect(await production()).toBe(shown.first);
    expect(machines()).toEqual(before);
    expect((await nodes()).every(({ power }) => power === 'running')).toBe(true);
  },
);

it.runIf(soak)(
  '(soak) down ends the machines of a daemon that was killed, and up brings them back',
  async () => {
    const names = (await nodes()).map(({ name, machineId }) => ({ name, machineId }));
    await killDaemon();
    expect(await imago.json('down')).toMatchObject({ machines: 2 });
    expect(machines()).toEqual([]);
    expect(await imago.json('down')).toEqual({ forced: false });
    await succeed('up');
    await until('the machines run again', () => machines().length === 2);
    expect(await nodes()).toMatchObject(names);
  },
);

it('a deleted pool leaves no process and no file', async () => {
  const before = machines();
  await succeed('pool', 'delete', 'web', '--yes');
  expect(machines()).toEqual([]);
  expect(readdirSync(join(imago.home, 'local', 'machines'))).toEqual([]);
  for (const { pid } of before) expect(existsSync(`/proc/${pid}`)).toBe(false);
});

const canary = 'canary-in-a-deleted-file';
const onMachine = `name: on-machine
method: machine
base:
  image: first-node
disk:
  size: 3GiB
steps:
  - name: one
    run: |
      echo one >>/etc/steps
      echo ${canary} >/root/gone
      sync
      rm /root/gone
  - name: two
    run: echo two >>/etc/steps
    restart: true
tests:
  - name: each step ran once
    run: test "$(tr '\\n' ' ' </etc/steps)" = "one two "
`;

it(
  'a build on a machine goes on through kills of the daemon, and seals neither identities nor deleted bytes',
  async () => {
    const file = join(recipes, 'machine.yaml');
    writeFileSync(file, onMachine);
    const { id } = await imago.json<{ id: string }>('build', file, '--no-wait');
    const show = () =>
      imago.json<{ state: string; currentStep?: string; result?: { version: string } }>('op', 'show', id);
    const order = ['step-1', 'step-2', 'stop', 'build', 'discard', 'number', 'records', 'sign', 'seal'];
    for (const step of ['step-1', 'step-2', 'build']) {
      await until(
        `${step} runs`,
        async () => {
          const { state: now, currentStep = '' } = await show();
          return now === 'succeeded' || order.indexOf(currentStep) >= order.indexOf(step);
        },
        900,
      );
      await killDaemon();
      await succeed('up', '--listen', '127.0.0.1:0');
    }
    await until(
      'the build has ended',
      async () => !['running', 'queued'].includes((await show()).state),
      900,
    );
    const { state, result } = await show();
    expect(state).toBe('succeeded');
    expect(machines()).toEqual([]);
    expect(readdirSync(join(imago.home, 'local', 'snapshots'))).toHaveLength(2);
    const disk = join(imago.userHome, 'on-machine.raw');
    await succeed('image', 'export', 'on-machine', disk);
    const { out } = await imago.program('grep', '-c', '-a', '-F', canary, disk);
    expect(out).toBe('0\n');
    await imago.program('rm', disk);
    // It compares the identities of two machines, and each must differ.
    await succeed('test', `on-machine:${result?.version}`, '--firmware', 'direct');
  },
  patience(1_800_000),
);
