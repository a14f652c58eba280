// Real machines as a user has them: an ordinary user where the test may make one. A pool from an imported disk lives
// through the death of the daemon and through `down --leave-machines`; `down` ends it, and `up` brings it back.
import { spawn } from 'node:child_process';
import { chmodSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { identifyProcess, signalProcess, waitForExit } from '../../src/api/process-identity.ts';
import { until } from '../support/daemon.ts';
import { collect, type Finished } from '../support/imago.ts';
import { makeMachineDisk } from '../support/machine-disk.ts';
import { canBeOrdinary, ordinaryUser } from '../support/ordinary-user.ts';

const main = resolve(import.meta.dirname, '../../src/cli/main.ts');
let folder: string;
let home: string;
let disk: string;
let command: readonly [string, ...string[]];

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'imago-journey-'));
  chmodSync(folder, 0o755);
  const user = canBeOrdinary ? ordinaryUser(folder) : undefined;
  home = join(user?.home ?? folder, 'state');
  command = user?.node(main) ?? [process.execPath, main];
  disk = (await makeMachineDisk(folder)).path;
  chmodSync(disk, 0o644);
});

afterAll(async () => {
  await imago('pool', 'delete', 'web', '--yes');
  await imago('down');
  rmSync(folder, { recursive: true, force: true });
});

function imago(...words: readonly string[]): Promise<Finished> {
  const [program, ...args] = command;
  const env = { ...process.env, IMAGO_HOME: home, IMAGO_PROVIDER: 'local', NO_COLOR: '1' };
  return collect(spawn(program, [...args, ...words], { cwd: '/', env, stdio: ['ignore', 'pipe', 'pipe'] }));
}

async function json<T>(...words: readonly string[]): Promise<T> {
  const { code, out, err } = await imago(...words, '--json');
  if (code !== 0) throw new Error(`imago ${words.join(' ')} ended with ${code}: ${out}${err}`);
  return JSON.parse(out) as T;
}

interface NodeView {
  readonly name: string;
  readonly power: string;
  readonly state: string;
  readonly machineId: string;
}

async function theNode(): Promise<NodeView> {
  const { items } = await json<{ items: readonly NodeView[] }>('node', 'list', '--pool', 'web');
  expect(items).toHaveLength(1);
  return items[0] as NodeView;
}

/** The machine's process; `undefined` when there is none that lives. */
function machine() {
  const machines = join(home, 'local', 'machines');
  const [id = ''] = existsSync(machines) ? readdirSync(machines) : [];
  const file = join(machines, id, 'qemu.pid');
  return existsSync(file) ? identifyProcess(Number.parseInt(readFileSync(file, 'utf8'), 10)) : undefined;
}

async function killDaemon(): Promise<void> {
  const { daemon } = await json<{ daemon: { pid: number } }>('status');
  const found = identifyProcess(daemon.pid);
  if (found === undefined) throw new Error('There is no daemon.');
  signalProcess(found, 'SIGKILL');
  await waitForExit(found, 10_000);
}

it('a disk becomes a pool of one node, which is ready when its agent says so', async () => {
  await json('image', 'import', disk, '--name', 'node', '--version', '1.0.0', '--numbering', 'semver');
  await json('pool', 'create', 'web', '--image', 'node:1.0.0', '--nodes', '1', '--size', 'tiny');
  expect(await theNode()).toMatchObject({ power: 'running', state: 'ready' });
  expect(machine()).toBeDefined();
});

it('a killed daemon leaves the machine, and the next one has it', async () => {
  const before = machine();
  const node = await theNode();
  await killDaemon();
  expect(machine()).toEqual(before);
  expect(await theNode()).toEqual(node);
  expect(machine()).toEqual(before);
});

it('down leaves machines when it is told to', async () => {
  const before = machine();
  expect(await imago('down', '--leave-machines')).toMatchObject({ code: 0 });
  expect(machine()).toEqual(before);
  expect(await theNode()).toMatchObject({ power: 'running' });
});

it('down ends the machines of a daemon that was killed, and up brings them back', async () => {
  const node = await theNode();
  await killDaemon();
  expect(await json('down')).toMatchObject({ machines: 1 });
  expect(machine()).toBeUndefined();
  expect(await json('down')).toEqual({ forced: false });
  expect((await imago('up')).code).toBe(0);
  await until('the machine runs again', machine);
  expect(await theNode()).toMatchObject({ name: node.name, machineId: node.machineId });
});

it('a deleted pool leaves no process and no file', async () => {
  const before = machine();
  await json('pool', 'delete', 'web', '--yes');
  expect(machine()).toBeUndefined();
  expect(readdirSync(join(home, 'local', 'machines'))).toEqual([]);
  expect(existsSync(`/proc/${before?.pid}`)).toBe(false);
});
