// The commands of a user against Azure, as the emulator plays it: settings, a disk, a gallery, a pool, a rollout.
import { readFile, writeFile } from 'node:fs/promises';
import { request } from 'node:https';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type RunningEmulator, serveEmulator } from '../../src/azure-emulator/server.ts';
import { subscription } from '../support/azure-bench.ts';
import { statusOf } from '../support/daemon.ts';
import { createImago, type Imago, recipe } from '../support/imago.ts';
import { makeNodeDisk } from '../support/node-disk.ts';
import { patience } from '../support/speed.ts';
import { tinyDisk } from '../support/tiny-disk.ts';
import { until } from '../support/until.ts';

const group = `/subscriptions/${subscription}/resourceGroups/imago`;
const env = { AZURE_TENANT_ID: 'tenant', AZURE_CLIENT_ID: 'imago', AZURE_CLIENT_SECRET: 's3cret' };
let emulator: RunningEmulator;
let imago: Imago;
let first: string;

beforeAll(async () => {
  emulator = await serveEmulator({ subscription, anySubscription: false, timeScale: 500 });
  imago = await createImago();
});
afterAll(async () => {
  await imago.end();
  await emulator.close();
});

async function importDisk(seed: number): Promise<string> {
  const file = join(imago.folder, 'disk.raw');
  await writeFile(file, Buffer.concat([tinyDisk(seed), Buffer.alloc(23 * 2 ** 20)]));
  return (await imago.json<{ version: string }>(['image', 'import', file, '--name', 'sample'])).version;
}

async function versionsOfNodes(): Promise<readonly string[]> {
  const { items } = await imago.json<{ items: { name: string; version: string }[] }>(['node', 'list']);
  return items.map(({ name, version }) => `${name} ${version}`);
}

test('the settings turn the provider on, and doctor signs in', async () => {
  first = await importDisk(1);
  const unset = await imago.run(['image', 'publish', `sample:${first}`, '--provider', 'azure']);
  expect(unset).toMatchObject({ code: 2, err: expect.stringContaining('azure-subscription') });
  await imago.json(['down']);
  const settings = {
    ...{
      subscription,
      'resource-group': 'imago',
      location: 'westeurope',
      endpoint: emulator.url,
      ca: emulator.ca,
    },
    subnet: `${group}/providers/Microsoft.Network/virtualNetworks/net/subnets/nodes`,
  };
  const flags = Object.entries(settings).flatMap(([name, value]) => [`--azure-${name}`, value]);
  await imago.json(['up', ...flags], { env });
  const { providers } = (await statusOf(imago)) as unknown as { providers: { name: string }[] };
  expect(providers).toContainEqual(expect.objectContaining({ name: 'azure', emulated: true }));
  const { findings } = await imago.json<{ findings: { id: string; state: string }[] }>(['doctor'], { env });
  expect(findings).toContainEqual(expect.objectContaining({ id: 'azure.access', state: 'ok' }));
});

test(
  'a disk becomes a version in two regions, a pool, and after a rollout another version',
  async () => {
    const published = await imago.json<{ regions: string[] }>([
      ...['image', 'publish', `sample:${first}`, '--provider', 'azure', '--region', 'northeurope=2'],
    ]);
    expect(published.regions).toEqual(['westeurope', 'northeurope']);
    const create = [
      'pool',
      'create',
      'web',
      '--provider',
      'azure',
      '--nodes',
      '2',
      '--size',
      'Standard_D2s_v5',
    ];
    await imago.json([...create, '--image', `sample:${first}`]);
    expect(await versionsOfNodes()).toEqual([`web-000000 ${first}`, `web-000001 ${first}`]);
    await reportsByItsConsole();
    await comesFromOthers();
    const second = await importDisk(2);
    await imago.json(['pool', 'set-image', 'web', '--image', `sample:${second}`]);
    expect(await versionsOfNodes()).toEqual([`web-000000 ${first}`, `web-000001 ${first}`]);
    await imago.json(['rollout', 'start', 'web', '--bake', '1s']);
    expect(await versionsOfNodes()).toEqual([`web-000000 ${second}`, `web-000001 ${second}`]);
    await imago.json(['pool', 'delete', 'web', '--yes']);
    expect(await versionsOfNodes()).toEqual([]);
  },
  patience(240_000),
);

/** Another program scales the set: the new node is known with what it was made from. */
async function comesFromOthers(): Promise<void> {
  const set = `${group}/providers/Microsoft.Compute/virtualMachineScaleSets/web`;
  expect((await send('PATCH', set, { sku: { name: 'Standard_D2s_v5', capacity: 3 } })).status).toBe(200);
  await until('the new node is known', async () => (await versionsOfNodes()).includes(`web-000002 ${first}`));
  const which = await imago.json(['node', 'which', 'web-000002']);
  expect(which).toMatchObject({ node: 'web-000002', version: first, reference: `sample:${first}` });
  await imago.json(['pool', 'scale', 'web', '--nodes', '2', '--yes']);
}

async function send(method: string, path: string, body?: object): Promise<{ readonly status: number }> {
  const url = `${emulator.url}${path}?api-version=${path.includes('galleries') ? '2024-03-03' : '2024-11-01'}`;
  const headers = { authorization: `Bearer ${emulator.token}`, 'content-type': 'application/json' };
  const ca = await readFile(emulator.ca);
  return new Promise((resolve, reject) => {
    request(url, { method, headers, ca }, (reply) => {
      reply.resume().on('end', () => resolve({ status: reply.statusCode ?? 0 }));
    })
      .on('error', reject)
      .end(body === undefined ? undefined : JSON.stringify(body));
  });
}

/** A node has nothing to speak with but its serial console. */
async function reportsByItsConsole(): Promise<void> {
  const file = await imago.writeFile(
    'web.json',
    JSON.stringify({ schemaVersion: 1, system: { sysctl: { 'kernel.panic': 20 } } }),
  );
  const one = await imago.run(['node', 'config', 'set', 'web-000000', file]);
  expect(one).toMatchObject({ code: 4, err: expect.stringContaining('whole pool web') });
  const changed = await imago.json(['node', 'config', 'set', 'web', file]);
  expect(changed).toMatchObject({ pool: 'web', nodes: 2, applied: 2, waiting: 0 });
  const { lines } = await imago.json<{ lines: string[] }>(['node', 'console', 'web-000000']);
  expect(lines.join('\n')).toContain('imago-agent: ready');
  expect(await imago.json(['node', 'timeline', 'web-000000'])).toMatchObject({ phase: 'ready' });
  expect(await imago.json(['node', 'config', 'show', 'web-000001'])).toMatchObject({ node: 'web-000001' });
}

test(
  'a node of a flexible scale set waits with a config until it is allowed to be drained for it',
  async () => {
    const create = [
      'pool',
      'create',
      'flex',
      '--provider',
      'azure',
      '--orchestration',
      'flexible',
      '--nodes',
      '1',
    ];
    await imago.json([...create, '--size', 'Standard_D2s_v5', '--image', `sample:${first}`]);
    const { items } = await imago.json<{ items: { name: string }[] }>(['node', 'list']);
    const node = items.find(({ name }) => name.startsWith('flex-'))?.name ?? '';
    const text = JSON.stringify({ schemaVersion: 1, runtime: { cgroupDriver: 'cgroupfs' } });
    const file = await imago.writeFile('flex.json', text);
    expect(await imago.json(['node', 'config', 'set', node, file])).toMatchObject({
      waitingNodes: [{ node, for: 'drain' }],
    });
    await imago.json(['node', 'config', 'allow', node]);
    const shown = await imago.json<object>(['node', 'config', 'show', node]);
    expect(shown).not.toHaveProperty('waiting');
    expect(await imago.run(['node', 'exec', node, '--', 'true'])).toMatchObject({ code: 0, err: '' });
    expect(await imago.json(['node', 'config', 'show', node])).toEqual(shown);
    await imago.json(['pool', 'delete', 'flex', '--yes']);
  },
  patience(240_000),
);

test('a disk that would not boot in Azure is refused before anything is sent', async () => {
  const { path } = await makeNodeDisk(imago.folder);
  const { version } = await imago.json<{ version: string }>(['image', 'import', path, '--name', 'plain']);
  const { code, err } = await imago.run(['image', 'publish', `plain:${version}`, '--provider', 'azure']);
  expect({ code, err }).toEqual({ code: 4, err: expect.stringContaining('azure-hyperv-disk (hv_vmbus') });
  expect(err).toContain('azure-accelerated-network');
  expect(err).not.toContain('azure-serial-console');
  const sent = await send('GET', `${group}/providers/Microsoft.Compute/galleries/imago/images/plain`);
  expect(sent.status).toBe(404);
});

test('the reference of a version is printed as other tools take it', async () => {
  const id = `${group}/providers/Microsoft.Compute/galleries/imago/images/sample/versions/${first}`;
  const { out } = await imago.run(['resolve', `sample:${first}`, '--for', 'az']);
  expect(out).toBe(`--image ${id}\n`);
  const found = await imago.json<{ id: string; text: string }>([
    'resolve',
    `sample:${first}`,
    '--for',
    'bicep',
  ]);
  expect(found).toMatchObject({ id, text: expect.stringContaining(`id: '${id}'`) });
});

test('the cost of copies follows from a price file', async () => {
  const prices = await imago.writeFile(
    'prices.yaml',
    'currency: EUR\ngibMonth: 1\nregions: {northeurope: 2}\n',
  );
  const found = await imago.json<{ items: object[]; total: number; currency: string }>([
    ...['image', 'cost', 'sample', '--prices', prices],
  ]);
  const copy = { gallery: 'azure/imago', image: 'sample', version: first, replicas: 3 };
  // 1 GiB once in westeurope, and twice in northeurope.
  expect(found.items).toContainEqual({ ...copy, sizeBytes: 2 ** 30, cost: 5 });
  expect(found).toMatchObject({ currency: 'EUR', total: expect.any(Number) });
  const wrong = await imago.writeFile('prices.yaml', 'currency: EUR\n');
  const refused = await imago.run(['image', 'cost', '--prices', wrong]);
  expect(refused).toMatchObject({ code: 2, err: expect.stringContaining('gibMonth') });
});

test('a pool of a size that cannot start the image is refused, and capz takes only images that join', async () => {
  const create = [
    'pool',
    'create',
    'arm',
    '--provider',
    'azure',
    '--nodes',
    '1',
    '--image',
    `sample:${first}`,
  ];
  for (const [size, says] of [
    ['Standard_D2ps_v5', 'is arm64, and the image is x64'],
    ['Standard_D1_v2', 'starts generation 1 only'],
    ['small', 'not a size of machines in Azure'],
  ] as const) {
    const refused = await imago.run([...create, '--size', size]);
    expect(refused, size).toMatchObject({ code: 2, err: expect.stringContaining(says) });
  }
  expect((await imago.run(['resolve', `sample:${first}`, '--for', 'capz'])).code).not.toBe(0);
});

test('what Azure cannot do is refused before anything starts', async () => {
  const file = await imago.writeFile('node.yaml', recipe);
  const refused = await imago.run(['build', file, '--provider', 'azure']);
  expect(refused).toMatchObject({ code: 4, err: expect.stringContaining('Provider azure has no builder') });
});
