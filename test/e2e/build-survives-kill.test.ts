// A build that is killed at any of its steps leaves nothing that stands in the way: the next one goes on with every
// layer and download that was finished, and ends with the disk that an undisturbed build gives.
import { spawn } from 'node:child_process';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { fetchTools } from '../../src/host/tools/fetch-tools.ts';
import { openDiskStore } from '../../src/oci/disks/disk-store.ts';
import { type BuildOutcome, runBuild } from '../support/build-child.ts';
import { collect } from '../support/imago.ts';
import { sharedBuildCache, writeTestRecipe } from '../support/test-recipe.ts';
import { until } from '../support/until.ts';

const child = resolve(import.meta.dirname, '../support/build-child.ts');
const components = ['tool', 'parts', 'tree', 'engine', 'report'].map((name) => `component ${name}`);
const images = 'images';
const [base, packages] = ['base', 'packages containerd, runc'];

/** In their order: what is told when the step is under way, and the layers that are safe by then. */
const deaths: readonly (readonly [string, RegExp, readonly string[]])[] = [
  ['locking', /^resolving packages/, []],
  ['fetching', /^fetching inputs/, []],
  ['the base system', /^base: Setting up/, [...components, images]],
  ['the packages', /^packages.*: Setting up/, [...components, images, base]],
  ['the configuration', /^building configuration/, [...components, images, base, packages]],
  ['the disk', /^assembling the disk/, [...components, images, base, packages, 'configuration']],
  ['the seal', /^sealing the disk/, [...components, images, base, packages, 'configuration']],
];

let folder: string;
let recipe: string;
let cache: string;
let store: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'imago-killed-'));
  await fetchTools({ group: 'disk' });
  recipe = await writeTestRecipe(folder);
  cache = join(folder, 'cache');
  store = join(folder, 'store');
});
afterAll(() => rm(folder, { recursive: true, force: true }));

/** Kills the build when it tells the mark and the layers are in the cache; returns what it had told. */
async function killAt(mark: RegExp, layers: readonly string[]): Promise<string> {
  const process = start();
  const ended = collect(process);
  let told = '';
  process.stderr?.setEncoding('utf8').on('data', (text: string) => {
    told += text;
  });
  const gone = new AbortController();
  process.once('close', () => gone.abort());
  const marked = new RegExp(mark.source, 'm');
  await until(
    'the mark',
    async () => gone.signal.aborted || (marked.test(told) && hasLayers(cache, layers)),
    500,
  );
  process.kill('SIGKILL');
  await ended;
  return told;
}

function start() {
  const job = JSON.stringify({ recipe, cache, store });
  return spawn(process.execPath, [child, job], { stdio: ['ignore', 'pipe', 'pipe'] });
}

async function hasLayers(place: string, layers: readonly string[]): Promise<boolean> {
  const keys = join(place, 'content', 'keys');
  const files = (await readdir(keys).catch(() => [])).filter((name) => name.endsWith('.json'));
  const stored = await Promise.all(
    files.map(
      async (file) => (JSON.parse(await readFile(join(keys, file), 'utf8')) as { name: string }).name,
    ),
  );
  return layers.every((name) => stored.includes(name));
}

/** The sandbox ends with the process that started it. */
async function processesIn(place: string): Promise<readonly string[]> {
  const found: string[] = [];
  for (const pid of (await readdir('/proc')).filter((name) => /^\d+$/.test(name))) {
    const mounts = await readFile(`/proc/${pid}/mounts`, 'utf8').catch(() => '');
    if (mounts.includes(place)) found.push(pid);
  }
  return found;
}

it('goes on after a kill at each step, and nothing is left of the killed ones', async () => {
  let safe: readonly string[] = [];
  for (const [what, mark, layers] of deaths) {
    const told = await killAt(mark, layers);
    expect(told, what).toMatch(new RegExp(mark.source, 'm'));
    for (const name of safe) expect(told.split('\n'), what).toContain(`${name}: reused`);
    await expect.poll(() => processesIn(cache)).toEqual([]);
    const opened = await openDiskStore(store);
    expect(await opened.list(), what).toEqual([]);
    await opened.close();
    safe = layers;
  }
  const { out } = await collect(start());
  const outcome = JSON.parse(out) as BuildOutcome;
  const made = outcome.steps.filter(({ reused }) => !reused).map(({ name }) => name);
  expect(made.sort()).toEqual(['disk', 'inputs', 'seal']);
  expect(await readdir(join(cache, 'work'))).toEqual([]);
  expect(await readdir(join(cache, 'temporary')).catch(() => [])).toEqual([]);
  const other = join(folder, 'other');
  const undisturbed = await runBuild({ recipe, cache: sharedBuildCache(), store: other }, () => undefined);
  expect(outcome.diskDigest).toBe(undisturbed.diskDigest);
});
