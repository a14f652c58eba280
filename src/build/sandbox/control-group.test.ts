// The tree of groups is made of plain files here: the kernel's own cannot be had in every test environment.
import { existsSync } from 'node:fs';
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { runTool } from '../../host/process/run-tool.ts';
import { createGroup, findGroupParent } from './control-group.ts';
import { defaultLimits } from './limits.ts';

let mount: string;
let own: string;

beforeEach(async () => {
  mount = await mkdtemp(join(tmpdir(), 'imago-groups-'));
  own = join(mount, 'own');
});
afterEach(() => rm(mount, { recursive: true, force: true }));

/** As the kernel has it for a group that has processes: no one can change which limits it gives. */
async function group(path: string, controllers: string): Promise<void> {
  const folder = join(mount, path);
  const control = join(folder, 'cgroup.subtree_control');
  await mkdir(folder, { recursive: true });
  await rm(control, { force: true });
  await writeFile(control, controllers, { mode: 0o444 });
  await writeFile(join(folder, 'cgroup.procs'), '');
}

it('finds the nearest group above that gives limits to the groups in it', async () => {
  await group('/', 'cpu memory pids\n');
  await group('/user', 'memory pids\n');
  await group('/user/imago', '\n');
  await writeFile(own, '0::/user/imago\n');
  expect(findGroupParent(mount, own)).toBe(join(mount, 'user'));
  await group('/user', 'pids\n');
  expect(findGroupParent(mount, own)).toBe(join(mount, '/'));
});

it('has a group that was delegated to an ordinary user give limits', async () => {
  await group('/', '\n');
  await chmod(join(mount, 'cgroup.subtree_control'), 0o644);
  await writeFile(own, '0::/\n');
  expect(findGroupParent(mount, own, true)).toBeUndefined();
  expect(findGroupParent(mount, own, false)).toBe(join(mount, '/'));
});

it.each([
  ['no controllers', '0::/imago\n', 'cpu\n'],
  ['only cgroup v1', '4:memory:/imago\n', 'memory pids\n'],
  ['a group outside of this namespace', '0::/../imago\n', 'memory pids\n'],
])('finds none with %s', async (_, text, controllers) => {
  await group('/', controllers);
  await group('/imago', '\n');
  await writeFile(own, text);
  expect(findGroupParent(mount, own)).toBeUndefined();
  expect(findGroupParent(join(mount, 'absent'), own)).toBeUndefined();
});

it('limits a command that enters it, and sweeps what a killed process left', async () => {
  const left = 'imago-4194305-1-00000000-0000-0000-0000-000000000000';
  await mkdir(join(mount, left));
  const made = await createGroup(mount, { ...defaultLimits, allMemoryBytes: 5000, processes: 70 });
  const [name = '', ...others] = await readdir(mount);
  expect(others).toEqual([]);
  const read = (file: string) => readFile(join(mount, name, file), 'utf8');
  expect([await read('memory.max'), await read('pids.max'), await read('memory.swap.max')]).toEqual([
    ...['5000', '70', '0'],
  ]);
  const [program = '', ...words] = [...(made?.words ?? []), 'echo', 'two words'];
  expect((await runTool(program, words)).stdout.toString()).toBe('two words\n');
  expect(await read('cgroup.procs')).toBe('0\n');
  expect(await made?.ranOutOfMemory()).toBe(false);
  await writeFile(join(mount, name, 'memory.events'), 'oom 3\noom_kill 12\n');
  expect(await made?.ranOutOfMemory()).toBe(true);
});

it('is not created where the kernel refuses', async () => {
  expect(await createGroup(join(mount, 'absent'), defaultLimits)).toBeUndefined();
  expect(existsSync(join(mount, 'absent'))).toBe(false);
});
