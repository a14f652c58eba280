// Probes of rollouts on the simulated provider, with a real web server, a real program, and conditions of its cluster.
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { openProber } from '../../src/daemon/prober.ts';
import { type CaptureBench, captureBench } from '../support/captures.ts';
import { createProduct, type Product } from '../support/product.ts';
import { type StoreBench, startStoreBench } from '../support/store.ts';

let stores: StoreBench;
let product: Product;
let bench: CaptureBench;
let server: Server;
let folder: string;
let url: string;
let asked: string[];
/** What the server answers. */
let answer: (path: string) => { readonly status: number; readonly body?: string };

beforeAll(async () => {
  stores = await startStoreBench();
});
afterAll(() => stores.stop());
beforeEach(async () => {
  asked = [];
  answer = () => ({ status: 200 });
  server = createServer(({ url: path = '' }, response) => {
    asked.push(path);
    const { status, body = '' } = answer(path);
    response.writeHead(status).end(body);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  folder = await mkdtemp(join(tmpdir(), 'imago-probes-'));
  product = await createProduct(await stores.freshStore());
  Object.assign(product.deps, { prober: openProber(folder) });
  bench = await captureBench(product, 3);
  await bench.release('1.7.25');
});
afterEach(async () => {
  await product.close();
  await new Promise((resolve) => server.close(resolve));
  await rm(folder, { recursive: true });
});

function roll(probes: readonly string[], more: object = {}) {
  const input = { name: 'web', reference: 'node:1.0.1', bake: '0s', probes, probeTimeout: '0s', ...more };
  return product.run({ kind: 'rollout', subject: 'pool/web', input });
}

function versions(): string {
  return product.sim.world
    .view()
    .nodes.map(({ version }) => version)
    .join(' ');
}

async function addProgram(text: string): Promise<void> {
  await writeFile(join(folder, 'check-web'), `#!/bin/sh\n${text}\n`);
  await chmod(join(folder, 'check-web'), 0o755);
}

test('probes that hold let the rollout through, and are run for every moved node', async () => {
  await addProgram('echo "$1" >> nodes');
  answer = () => ({ status: 200, body: JSON.stringify({ status: 'success', data: { result: [] } }) });
  const probes = [`http ${url}/{node}`, 'condition Ready', 'command check-web {node}', `promql ${url} up==0`];
  expect(await roll(probes)).toMatchObject({ state: 'succeeded' });
  const names = product.sim.world.view().nodes.map(({ name }) => name);
  for (const name of names) expect(asked).toContain(`/${name}`);
  expect(asked).toContain('/api/v1/query?query=up%3D%3D0');
});

test.each([
  ['http', () => `http ${url}/{node}`, /HTTP 503/],
  ['a condition', () => 'condition NetworkReady', /it is not reported/],
  ['a program', () => 'command check-web', /exit 3: no route to the database/],
  ['a query', () => `promql ${url} ALERTS`, /returns 1 samples, such as "alertname=Down"/],
])('a probe by %s that fails returns the pool to its last good version', async (_, probe, reason) => {
  await addProgram('echo no route to the database; exit 3');
  const result = [{ metric: { alertname: 'Down' }, value: [0, '1'] }];
  const body = JSON.stringify({ status: 'success', data: { result } });
  answer = (path) => (path.startsWith('/api') ? { status: 200, body } : { status: 503 });
  expect(await roll([probe()])).toMatchObject({
    state: 'failed',
    error: { code: 'rollout-rolled-back', message: expect.stringMatching(reason) },
    exceptions: [],
  });
  expect([bench.model(), versions()]).toEqual(['node:1.0.0', '1.0.0 1.0.0 1.0.0']);
});

test('a probe that cannot be run holds the rollout, and blames no version', async () => {
  let answers = 0;
  const good = JSON.stringify({ status: 'success', data: { result: [] } });
  answer = () => (++answers > 5 ? { status: 200, body: good } : { status: 500 });
  const ended = roll([`promql ${url} ALERTS`]);
  await expect.poll(() => answers).toBeGreaterThan(2);
  await expect
    .poll(async () => {
      await product.wake();
      return answers;
    })
    .toBeGreaterThan(5);
  await expect.poll(() => product.wake().then(() => versions())).toBe('1.0.1 1.0.1 1.0.1');
  expect(await ended).toMatchObject({ state: 'succeeded' });
});

test('a probe that can never be run is refused before anything is touched', async () => {
  for (const probe of ['command check-web', 'command missing']) {
    const operation = await roll([probe]);
    expect(operation).toMatchObject({ state: 'failed', error: { code: 'rollout-refused' } });
    // This step only reads.
    expect(operation.steps.filter(({ state }) => state === 'done')).toMatchObject([{ name: 'floors' }]);
  }
  expect(versions()).toBe('1.0.0 1.0.0 1.0.0');
});

test('a node whose content a prototype was captured from counts as current', async () => {
  await bench.succeed('pool-scale', 'pool/web', { name: 'web', capacity: 6 });
  const { result } = await bench.capture();
  const { node, image, version } = result as { node: string; image: string; version: string };
  const input = { reference: `${image}:${version}`, probes: [] };
  const operation = await roll([], input);
  expect(operation).toMatchObject({ state: 'succeeded', result: { moved: 5 } });
  expect(operation.steps.find(({ name }) => name === 'plan')?.result).toMatchObject({ current: [node] });
});
