// Every command of the tutorial, in the order in which a reader types them, with a real build.

import { spawn } from 'node:child_process';
import { mkdtemp, readFile, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { runTool } from '../../src/host/process/run-tool.ts';
import { requireTool } from '../../src/host/tools/tools.ts';
import { daemonCache, workFolder } from '../support/build-fixture.ts';
import { collect } from '../support/imago.ts';

const root = resolve(import.meta.dirname, '../..');
let folder: string;
/** Of its own, so that no other run has made a layer of the tutorial's before. */
let work: string;
let cache: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'imago-tutorial-'));
  work = await workFolder();
  cache = await daemonCache(work);
});

afterAll(async () => {
  await shell('imago down');
  for (const made of [folder, work]) await rm(made, { recursive: true, force: true });
});

function shell(script: string) {
  const { IMAGO_PROVIDER: _, ...reader } = process.env;
  const env = {
    ...reader,
    PATH: `${join(root, 'bin')}:${process.env.PATH}`,
    IMAGO_HOME: join(folder, 'home'),
    IMAGO_CACHE: cache,
    IMAGO_AGENT: 'none',
    NO_COLOR: '1',
  };
  return collect(spawn('sh', ['-eu', '-c', script], { cwd: folder, env, stdio: ['ignore', 'pipe', 'pipe'] }));
}

test('the tutorial can be typed from its first command to its last', async () => {
  const text = await readFile(join(root, 'docs/tutorial.md'), 'utf8');
  const blocks = [...text.matchAll(/^```sh\n(.*?)^```$/gms)].map((match) => match[1] ?? '');
  expect(blocks.length).toBeGreaterThan(6);
  let out = '';
  for (const block of blocks) {
    const finished = await shell(block);
    expect(finished, block).toMatchObject({ code: 0 });
    out += finished.out;
  }
  expect(out).toMatch(/imago\.lock is up to date/);
  expect(out).toMatch(/hello:1\.0\.0 sealed as a candidate/);
  expect(out).toMatch(/hello:1\.0\.0 already exists: nothing changed/);
  expect(out).toMatch(/signed by key/);
  const layers = [...out.matchAll(/^(?:hit |miss) .*$/gm)].map(([line]) => line);
  expect(layers).toEqual(['hit  base', 'hit  packages containerd, runc', 'miss configuration']);
  expect(out).toMatch(/^ +settings\.sysctl\.net\.ipv4\.ip_forward: 1 → 0$/m);
  expect(out).toMatch(/A new version is needed: the system is configured differently/);
  expect(out).toMatch(/sysctl net\.ipv4\.ip_forward 1 → 0/);
  const bom = JSON.parse(await readFile(join(folder, 'hello.cdx.json'), 'utf8')) as {
    components: { name: string }[];
  };
  expect(bom.components.map(({ name }) => name)).toEqual(expect.arrayContaining(['containerd', 'runc']));
  await runTool(await requireTool('qemu-img'), ['check', join(folder, 'hello.qcow2')]);
  expect((await stat(join(folder, 'imago.lock'))).size).toBeGreaterThan(1000);
});
