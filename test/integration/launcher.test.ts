// bin/imago finds Node.js 24 by itself, wherever it was installed and however it is called.
import { spawnSync } from 'node:child_process';
import { chmodSync, copyFileSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';

const launcher = resolve(import.meta.dirname, '../../bin/imago');
let folder = '';

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'imago launcher ü-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

/** A program that says which version it is, and what it was run with. */
function fakeNode(path: string, version: string): string {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(
    path,
    `#!/bin/sh\nif [ "$1" = --version ]; then echo ${version}; else echo "$0"; printf '<%s>' "$@"; fi\n`,
  );
  chmodSync(path, 0o755);
  return path;
}

function installed(packageFolder: string): string {
  const target = join(packageFolder, 'bin', 'imago');
  mkdirSync(dirname(target), { recursive: true });
  copyFileSync(launcher, target);
  return target;
}

function run(program: string, words: readonly string[] = [], env: Record<string, string> = {}) {
  const tools = join(folder, 'tools');
  mkdirSync(tools, { recursive: true });
  for (const tool of ['sh', 'readlink']) {
    const found = spawnSync('sh', ['-c', `command -v ${tool}`], { encoding: 'utf8' }).stdout.trim();
    rmSync(join(tools, tool), { force: true });
    symlinkSync(found, join(tools, tool));
  }
  const path = [join(folder, 'path'), tools].join(':');
  return spawnSync(program, words, { env: { PATH: path, ...env }, cwd: folder, encoding: 'utf8' });
}

describe('the launcher', () => {
  test('takes the Node.js that npm put below the package, and passes every word as it is', () => {
    const imago = installed(join(folder, 'app'));
    const node = fakeNode(join(folder, 'app', 'node_modules', 'node', 'bin', 'node'), 'v24.1.0');
    fakeNode(join(folder, 'path', 'node'), 'v99.0.0');
    const words = ['a b', '', '$HOME', '--x=ü', '*'];
    const { stdout } = run(imago, words);
    expect(resolve(stdout.split('\n')[0] ?? '')).toBe(node);
    expect(stdout).toContain(`/dist/cli.js><${words.join('><')}>`);
  });

  test('takes the one that npm put beside the package, if it is new enough', () => {
    const imago = installed(join(folder, 'node_modules', 'imago'));
    const beside = join(folder, 'node_modules', 'node', 'bin', 'node');
    fakeNode(beside, 'v24.1.0');
    expect(resolve(run(imago).stdout.split('\n')[0] ?? '')).toBe(beside);
    fakeNode(beside, 'v20.1.0');
    expect(run(imago).status).toBe(2);
  });

  test('takes the one on the PATH when it is new enough', () => {
    const imago = installed(join(folder, 'app'));
    const node = fakeNode(join(folder, 'path', 'node'), 'v25.0.0');
    expect(run(imago).stdout.split('\n')[0]).toBe(node);
  });

  test('takes the one that IMAGO_NODE names before all others', () => {
    const imago = installed(join(folder, 'app'));
    fakeNode(join(folder, 'app', 'node_modules', 'node', 'bin', 'node'), 'v24.1.0');
    const mine = fakeNode(join(folder, 'my own node'), 'v24.0.0');
    expect(run(imago, [], { IMAGO_NODE: mine }).stdout.split('\n')[0]).toBe(mine);
  });

  test.each([
    ['too old', 'v23.11.0'],
    ['no Node.js at all', 'hello'],
  ])('says in one sentence that IMAGO_NODE is %s', (_, version) => {
    const imago = installed(join(folder, 'app'));
    const mine = fakeNode(join(folder, 'mine'), version);
    const { status, stdout, stderr } = run(imago, ['status'], { IMAGO_NODE: mine });
    expect({ status, stdout }).toEqual({ status: 2, stdout: '' });
    expect(stderr).toMatch(/^error: IMAGO_NODE names .*mine.*\nhint: .+\n$/);
  });

  test.each([
    ['none is there', undefined],
    ['the one on the PATH is too old', 'v20.20.2'],
  ])('says in one sentence what is missing when %s', (_, version) => {
    const imago = installed(join(folder, 'app'));
    if (version !== undefined) fakeNode(join(folder, 'path', 'node'), version);
    const { status, stdout, stderr } = run(imago, ['status']);
    expect({ status, stdout }).toEqual({ status: 2, stdout: '' });
    expect(stderr).toMatch(/^error: Imago needs Node\.js 24 .*\nhint: .*npm install.*\n$/);
  });

  test('is found through links of links, relative and absolute, as npm makes them', () => {
    const imago = installed(join(folder, 'lib', 'node_modules', 'imago'));
    const node = fakeNode(
      join(folder, 'lib', 'node_modules', 'imago', 'node_modules', 'node', 'bin', 'node'),
      'v24.0.0',
    );
    mkdirSync(join(folder, 'bin'));
    symlinkSync('../lib/node_modules/imago/bin/imago', join(folder, 'bin', 'imago'));
    symlinkSync(join(folder, 'bin', 'imago'), join(folder, 'shortcut'));
    for (const link of [join(folder, 'bin', 'imago'), join(folder, 'shortcut'), './shortcut', imago]) {
      expect(resolve(run(link).stdout.split('\n')[0] ?? '')).toBe(node);
    }
  });

  test('keeps compiled code where only its user can write, never in /tmp', () => {
    const imago = installed(join(folder, 'app'));
    const node = join(folder, 'path', 'node');
    fakeNode(node, 'v24.0.0');
    writeFileSync(node, '#!/bin/sh\n[ "$1" = --version ] && echo v24.0.0 || echo "$NODE_COMPILE_CACHE"\n');
    expect(run(imago, [], { HOME: '/home/me' }).stdout.trim()).toBe('/home/me/.cache/imago/node');
    expect(run(imago, [], { HOME: '/home/me', XDG_CACHE_HOME: '/c' }).stdout.trim()).toBe('/c/imago/node');
    expect(run(imago, [], { NODE_COMPILE_CACHE: '/mine' }).stdout.trim()).toBe('/mine');
    expect(run(imago).stdout.trim()).toBe('');
  });
});
