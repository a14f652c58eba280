// The shell that a person gets in the layer at which a build failed, with a system made of busybox alone.
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { failedShell, withShell } from '../../src/build/layers/failed-shell.ts';
import { canOverlay } from '../../src/build/sandbox/overlay.ts';
import { createSandbox } from '../../src/build/sandbox/sandbox.ts';
import { ImagoError } from '../../src/domain/error/imago-error.ts';
import { readToolFile } from '../../src/host/tools/tools.ts';

const sandbox = createSandbox();
let place = '';
let folder = '';

beforeEach(async () => {
  place = await mkdtemp(join(tmpdir(), 'imago-shell-'));
  folder = join(place, "a build's folder");
  await mkdir(join(folder, 'made-0'), { recursive: true });
  await mkdir(join(place, 'inputs'));
});

afterEach(async () => {
  await sandbox.remove(folder);
  await rm(place, { recursive: true, force: true });
});

async function makeSystem(tree: string): Promise<void> {
  await mkdir(join(tree, 'bin'), { recursive: true });
  await mkdir(join(tree, 'usr/sbin'), { recursive: true });
  await writeFile(join(tree, 'bin/busybox'), await readToolFile('busybox'), { mode: 0o755 });
  for (const name of ['sh', 'cat', 'ls']) await symlink('busybox', join(tree, 'bin', name));
  await writeFile(join(tree, 'below'), 'from the layer below\n');
}

function enter(words: readonly string[], input: string) {
  const [program = '', ...rest] = words;
  return spawnSync(program, rest, { input, encoding: 'utf8', cwd: '/' });
}

test('a build that failed before any package tool ran has no shell', async () => {
  expect(await failedShell(sandbox, folder, join(place, 'inputs'), false)).toBeUndefined();
});

test('a whole tree is entered, and taken away afterwards', async () => {
  await makeSystem(join(folder, 'made-0', 'tree'));
  await writeFile(join(place, 'inputs', 'package'), 'an input\n');
  const found = await failedShell(sandbox, folder, join(place, 'inputs'), false);
  const { stdout, status } = enter(found?.shell ?? [], 'cat /below /imago-inputs/package\n');
  expect(stdout).toBe('from the layer below\nan input\n');
  expect(status).toBe(0);
  expect(enter(found?.clean ?? [], '').status).toBe(0);
  expect(existsSync(folder)).toBe(false);
});

test('a layer is entered over those below it, the last one that was begun', async ({ skip }) => {
  if (!(await canOverlay(sandbox, place))) return skip('this machine cannot lay folders over each other');
  await makeSystem(join(place, 'kept'));
  const layer = join(folder, 'made-2');
  await mkdir(join(layer, 'tree'), { recursive: true });
  await symlink(join(place, 'kept'), join(layer, 'l0'));
  await writeFile(join(layer, 'tree', 'above'), 'half of it\n');
  const found = await failedShell(sandbox, folder, join(place, 'inputs'), true);
  const { stdout } = enter(found?.shell ?? [], 'cat /below /above\n');
  expect(stdout).toBe('from the layer below\nhalf of it\n');
});

test('the error keeps its code, its words and its facts', async () => {
  const error = new ImagoError('build-failed', 'dpkg said no', { details: { lines: ['no'] } });
  const told = withShell(error, { shell: ['sh'], clean: ['rm'], folder });
  expect(told).toMatchObject({ code: 'build-failed', message: 'dpkg said no', cause: error });
  expect(told.details).toMatchObject({ lines: ['no'], shell: ['sh'], clean: ['rm'] });
});
