// The shell that a person gets in the layer at which a build failed, with a system made of busybox alone.
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { failedShell, withShell } from '../../src/build/layers/failed-shell.ts';
import { canOverlay } from '../../src/build/sandbox/overlay.ts';
import { createSandbox } from '../../src/build/sandbox/sandbox.ts';
import { ImagoError } from '../../src/domain/error/imago-error.ts';
import { readToolFile } from '../../src/host/tools/tools.ts';
import { patience } from '../support/speed.ts';

const sandbox = createSandbox();
let place = '';
let folder = '';

beforeEach(async () => {
  place = await mkdtemp(join(tmpdir(), 'imago-shell-'));
  folder = join(place, "a build's folder");
  await mkdir(join(folder, 'made-0', 'inputs'), { recursive: true });
});

afterEach(async () => {
  await sandbox.remove(folder);
  await rm(place, { recursive: true, force: true });
});

/** As a build makes it: the sandbox owns it. Returns the tree. */
async function makeSystem(layer: string): Promise<string> {
  const tree = await mkdtemp(join(place, 'system-'));
  await chmod(tree, 0o755);
  await mkdir(join(tree, 'bin'), { recursive: true });
  await mkdir(join(tree, 'usr/sbin'), { recursive: true });
  await writeFile(join(tree, 'bin/busybox'), await readToolFile('busybox'), { mode: 0o755 });
  for (const name of ['sh', 'cat', 'ls']) await symlink('busybox', join(tree, 'bin', name));
  await writeFile(join(tree, 'below'), 'from the layer below\n');
  await mkdir(layer, { recursive: true });
  await sandbox.run({
    what: 'Making a system',
    script: 'cp -r --preserve=mode,links /below/0 /work/tree',
    folder: layer,
    below: [tree],
  });
  return join(layer, 'tree');
}

function enter(words: readonly string[], input: string) {
  const [program = '', ...rest] = words;
  return spawnSync(program, rest, { input, encoding: 'utf8', cwd: '/' });
}

test('a build that failed before any package tool ran has no shell', async () => {
  expect(await failedShell(sandbox, folder, false)).toBeUndefined();
});

test('a whole tree is entered, and taken away afterwards', async () => {
  await writeFile(join(folder, 'made-0', 'inputs', 'package'), 'an input\n');
  await writeFile(join(folder, 'made-0', 'below.json'), '[]');
  await makeSystem(join(folder, 'made-0'));
  const found = await failedShell(sandbox, folder, false);
  const { stdout, status } = enter(found?.shell ?? [], 'cat /below /imago-inputs/package\n');
  expect(stdout).toBe('from the layer below\nan input\n');
  expect(status).toBe(0);
  expect(enter(found?.clean ?? [], '').status).toBe(0);
  expect(existsSync(folder)).toBe(false);
});

test('a layer is entered over those below it, the last one that was begun', async ({ skip }) => {
  if (!(await canOverlay(sandbox, place))) return skip('this machine cannot lay folders over each other');
  const kept = await makeSystem(join(folder, 'kept'));
  const layer = join(folder, 'made-2');
  await mkdir(layer);
  await writeFile(join(layer, 'below.json'), JSON.stringify([kept]));
  const script = 'mkdir /work/tree; echo half of it >/work/tree/above';
  await sandbox.run({ what: 'Making a layer', script, folder: layer });
  const found = await failedShell(sandbox, folder, true);
  const { stdout } = enter(found?.shell ?? [], 'cat /below /above\n');
  expect(stdout).toBe('from the layer below\nhalf of it\n');
});

test('the error keeps its code, its words and its facts', async () => {
  const error = new ImagoError('build-failed', 'dpkg said no', { details: { lines: ['no'] } });
  const told = withShell(error, { shell: ['sh'], clean: ['rm'], folder });
  expect(told).toMatchObject({ code: 'build-failed', message: 'dpkg said no', cause: error });
  expect(told.details).toMatchObject({ lines: ['no'], shell: ['sh'], clean: ['rm'] });
});

test('what runs in the sandbox ends with the work that is cancelled', async () => {
  const control = new AbortController();
  const marker = `${86_400 + process.pid}`;
  const run = { what: 'Sleeping', script: `echo begun; sleep ${marker}`, signal: control.signal };
  const running = sandbox.run({ ...run, log: () => control.abort() });
  await expect(running).rejects.toMatchObject({ code: 'cancelled' });
  const words = (pid: string) => readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '');
  const sleeping = async () => {
    const all = await Promise.all((await readdir('/proc')).filter((name) => /^\d+$/.test(name)).map(words));
    return all.filter((text) => text === `sleep\0${marker}\0`);
  };
  await vi.waitFor(async () => expect(await sleeping()).toEqual([]), { timeout: patience(10_000) });
});
