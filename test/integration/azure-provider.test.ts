// What the Azure provider does where others act in the same subscription, and where Azure refuses.
import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { PoolSpec } from '../../src/ports/provider/pools.ts';
import { actionOf, at } from '../../src/providers/azure/arm/address.ts';
import { ArmClient } from '../../src/providers/azure/arm/client.ts';
import { openTransport, type Transport } from '../../src/providers/azure/arm/transport.ts';
import { type AzureBench, createAzureBench, subscription } from '../support/azure-bench.ts';

const options = { signal: new AbortController().signal, epoch: 1 };
const { signal } = options;
const scaleSet = (name: string) => at('virtualMachineScaleSets', name);
let bench: AzureBench;
let transport: Transport;
/** Another client in the same subscription. */
let others: ArmClient;

interface Shown {
  readonly tags?: Readonly<Record<string, string>>;
  readonly sku?: { readonly capacity?: number };
  readonly properties: Readonly<Record<string, unknown>>;
}

beforeAll(async () => {
  bench = await createAzureBench();
  transport = openTransport(await readFile(bench.emulator.ca, 'utf8'));
  const { url: endpoint, token } = bench.emulator;
  others = new ArmClient({
    ...{ endpoint, subscription, group: 'imago', transport, clock: bench.clock, token: async () => token },
  });
  const { gallery } = bench.provider;
  await gallery.createImage({ name: 'node', os: 'linux', architecture: 'x64', generation: 2 }, options);
  for (const version of ['1.0.0', '1.1.0']) await publish(version);
});

afterAll(async () => {
  transport.close();
  await bench.end();
});

async function publish(version: string): Promise<void> {
  const { diskDigest } = await bench.sealDisk(version);
  const { gallery } = bench.provider;
  await gallery.createVersion(
    {
      ...{ image: 'node', version, regions: [], excludeFromLatest: false, tags: {} },
      source: { kind: 'disk', digest: diskDigest },
    },
    options,
  );
  await settle(async () => (await gallery.getVersion('node', version, options))?.state === 'ready');
}

async function settle(done: () => Promise<boolean>): Promise<void> {
  for (let tries = 0; !(await done()); tries += 1) {
    if (tries > 5_000) throw new Error('It did not settle.');
    await bench.time.advance(5_000);
  }
}

async function pool(name: string, change: Partial<PoolSpec> = {}): Promise<PoolSpec> {
  const model = {
    ...{ image: 'node', version: '1.0.0', digest: 'sha256:1', size: 'Standard_D2s_v5' },
    ...{ nodeConfig: '{}', tags: { team: 'a' } },
  };
  const spec: PoolSpec = { name, orchestration: 'uniform', model, capacity: 2, ...change };
  await bench.provider.pools.createPool(spec, options);
  await settled(name);
  return spec;
}

async function settled(name: string): Promise<void> {
  const { pools } = bench.provider;
  await settle(async () => {
    const nodes = await pools.listNodes(name, { limit: 100 }, options);
    const states = nodes.items.map(({ state, power }) => `${state} ${power}`);
    return (
      (await pools.getPool(name, options))?.state === 'ready' &&
      states.every((one) => one === 'ready running')
    );
  });
}

test('a new model keeps tags, capacity, and fields that others wrote', async () => {
  const { pools } = bench.provider;
  const { model } = await pool('kept');
  const before = await others.get<Shown>(scaleSet('kept'), signal);
  const theirs = {
    tags: { ...before?.tags, owner: 'someone' },
    properties: { doNotRunExtensionsOnOverprovisionedVMs: true },
  };
  await others.finish(await others.patch(scaleSet('kept'), theirs, signal), signal);
  await others.finish(
    await others.patch(scaleSet('kept'), { sku: { ...before?.sku, capacity: 4 } }, signal),
    signal,
  );
  await pools.setModel('kept', { ...model, version: '1.1.0', digest: 'sha256:2', tags: {} }, {}, options);
  const after = await others.get<Shown>(scaleSet('kept'), signal);
  expect(after?.sku?.capacity).toBe(4);
  expect(after?.tags).toMatchObject({ owner: 'someone', 'imago-digest': 'sha256:2' });
  expect((await pools.getPool('kept', options))?.model.tags).toEqual({});
  expect(after?.properties.doNotRunExtensionsOnOverprovisionedVMs).toBe(true);
});

test('a scale set that upgrades its nodes automatically is refused with the reason', async () => {
  const { pools } = bench.provider;
  const { model } = await pool('automatic');
  const automatic = { properties: { upgradePolicy: { mode: 'Automatic' } } };
  await others.finish(await others.patch(scaleSet('automatic'), automatic, signal), signal);
  const change = pools.setModel('automatic', { ...model, version: '1.1.0' }, {}, options);
  await expect(change).rejects.toMatchObject({
    code: 'provider-conflict',
    retryable: false,
    hint: expect.stringContaining('upgradePolicy.mode=Manual'),
  });
  expect((await pools.getPool('automatic', options))?.model.version).toBe('1.0.0');
});

test('automatic repair is suspended while a node is protected, and resumes after the last one', async () => {
  const { pools } = bench.provider;
  await pool('repaired');
  const repairs = { properties: { automaticRepairsPolicy: { enabled: true, gracePeriod: 'PT30M' } } };
  await others.finish(await others.patch(scaleSet('repaired'), repairs, signal), signal);
  const { items } = await pools.listNodes('repaired', { limit: 10 }, options);
  const view = at('virtualMachineScaleSets/instanceView', 'repaired');
  const state = async () => JSON.stringify(await others.get(view, signal));
  const protect = (index: number, on: boolean) =>
    pools.protectNode(
      'repaired',
      items[index]?.name ?? '',
      { fromScaleIn: on, fromPoolActions: on },
      options,
    );
  await protect(0, true);
  await protect(1, true);
  expect(await state()).toContain('Suspended');
  await protect(0, false);
  expect(await state()).toContain('Suspended');
  await protect(1, false);
  expect(await state()).toContain('Running');
});

test('a node that has the model already gets a new disk of the same version', async () => {
  const { pools } = bench.provider;
  await pool('reimaged');
  const [before] = (await pools.listNodes('reimaged', { limit: 10 }, options)).items;
  await bench.time.advance(60_000);
  await pools.reimageNode('reimaged', before?.name ?? '', options);
  await settled('reimaged');
  const after = await pools.getNode('reimaged', before?.name ?? '', options);
  expect(after).toMatchObject({ name: before?.name, version: '1.0.0', machineId: before?.machineId });
  expect(after?.osDisk).not.toBe(before?.osDisk);
  expect(Date.parse(after?.imagedAt ?? '')).toBeGreaterThan(Date.parse(before?.imagedAt ?? ''));
});

test('scale sets that others made are not pools, and are not adopted', async () => {
  const { pools } = bench.provider;
  const { model } = await pool('ours');
  const { tags, ...copy } = (await others.get<Shown>(scaleSet('ours'), signal)) ?? {};
  await others.finish(await others.put(scaleSet('theirs'), copy, signal), signal);
  const { items } = await pools.listPools({ limit: 100 }, options);
  expect(items.map(({ name }) => name)).toContain('ours');
  expect(items.map(({ name }) => name)).not.toContain('theirs');
  const again = pools.createPool({ name: 'theirs', orchestration: 'uniform', model, capacity: 2 }, options);
  await expect(again).rejects.toMatchObject({ code: 'provider-conflict' });
});

test('a pool needs a subnet, and a gallery a name that is not of a community gallery', async () => {
  const without = await bench.open({ subnet: undefined });
  const model = { image: 'node', version: '1.0.0', digest: 'd', size: 's', nodeConfig: '{}', tags: {} };
  const made = without.pools.createPool(
    { name: 'homeless', orchestration: 'uniform', model, capacity: 1 },
    options,
  );
  await expect(made).rejects.toMatchObject({
    code: 'provider-lacks',
    hint: expect.stringContaining('azure-subnet'),
  });
  const community = bench.provider.galleries.createGallery(
    { name: 'ClusterAPI-f72ceb4f-5159-4c26' },
    options,
  );
  await expect(community).rejects.toThrow('community galleries');
});

test('a wrong subscription and a wrong secret are named, with the request', async () => {
  const lost = await bench.open({ subscription: '33333333-3333-3333-3333-333333333333' });
  await expect(lost.gallery.getImage('node', options)).rejects.toMatchObject({
    code: 'provider-not-found',
    message: expect.stringMatching(/SubscriptionNotFound.*\(request [0-9a-f-]{36}\)/),
  });
  const unknown = await bench.open({ env: { AZURE_TENANT_ID: 't', AZURE_CLIENT_ID: 'c' }, signIn: 'secret' });
  await expect(unknown.check(signal)).rejects.toThrow('AZURE_CLIENT_SECRET not set');
});

test('an uploaded disk is gone when its version is ready, and what a crash left goes after a day', async () => {
  const uploads = async () =>
    (await others.list<{ readonly name: string }>(at('disks'), signal)).filter(({ name }) =>
      name.startsWith('imago-upload-'),
    );
  await settle(async () => (await uploads()).length === 0);
  const left = {
    location: 'westeurope',
    tags: { 'imago-made': 'upload' },
    properties: { creationData: { createOption: 'Upload', uploadSizeBytes: 20 * 2 ** 20 + 512 } },
  };
  await others.finish(await others.put(at('disks', 'imago-upload-left'), left, signal), signal);
  const grant = { access: 'Write', durationInSeconds: 3_600 };
  await others.finish(
    await others.post(actionOf(at('disks', 'imago-upload-left'), 'beginGetAccess'), grant, signal),
    signal,
  );
  await bench.time.advance(25 * 3_600_000);
  await bench.provider.sweep(signal);
  await settle(async () => (await uploads()).length === 0);
});

test('limits are counted by the region in which galleries stand, with those of others', async () => {
  const { gallery } = bench.provider;
  const theirs = { ...at('galleries', 'theirs'), group: 'other' };
  await others.finish(await others.put(theirs, { location: 'uksouth', properties: {} }, signal), signal);
  const identifier = { publisher: 'p', offer: 'o', sku: 's' };
  const definition = { ...at('galleries/images', 'theirs', 'one'), group: 'other' };
  const properties = { osType: 'Linux', osState: 'Generalized', identifier };
  await others.finish(await others.put(definition, { location: 'uksouth', properties }, signal), signal);
  const counted = await gallery.limits(options);
  expect(counted).toContainEqual({ name: 'galleries', region: 'uksouth', used: 1, limit: 100 });
  expect(counted).toContainEqual({ name: 'images', region: 'uksouth', used: 1, limit: 1_000 });
  expect(counted).toContainEqual({ name: 'galleries', region: 'westeurope', used: 1, limit: 100 });
  expect(counted).toContainEqual({ name: 'versions', region: 'westeurope', used: 2, limit: 10_000 });
  const forImage = await gallery.limits({ ...options, image: 'node' });
  expect(new Set(forImage.map(({ region }) => region))).toEqual(new Set(['westeurope']));
});

describe('a refusal of Azure', () => {
  const image = { name: 'node', os: 'linux', architecture: 'x64', generation: 2 } as const;

  /** The next matching request is refused as Azure would, with this text. */
  async function order(fault: object): Promise<void> {
    const { url: endpoint, token } = bench.emulator;
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
    const url = new URL('/imago/faults', endpoint);
    const sent = { method: 'POST', url, headers, body: JSON.stringify(fault), signal };
    expect((await transport.send(sent)).status).toBe(201);
  }

  async function spec(version: string) {
    const { diskDigest } = await bench.sealDisk('1.0.0');
    const source = { kind: 'disk', digest: diskDigest } as const;
    return { image: 'node', version, source, regions: [], excludeFromLatest: false, tags: {} };
  }

  test('for a missing right names the action and the request', async () => {
    const action = 'Microsoft.Compute/galleries/images/versions/write';
    const message = `The client 'x' does not have authorization to perform action '${action}' over scope '/s'.`;
    await order({
      method: 'PUT',
      path: '/versions/3.0.0',
      status: 403,
      code: 'AuthorizationFailed',
      message,
    });
    const made = bench.provider.gallery.createVersion(await spec('3.0.0'), options);
    await expect(made).rejects.toMatchObject({
      code: 'provider-forbidden',
      hint: expect.stringContaining(action),
      message: expect.stringMatching(/\(request [0-9a-f-]{36}\)/),
    });
    expect(await bench.provider.gallery.getVersion('node', '3.0.0', options)).toBeUndefined();
  });

  test('for a quota is one, and nothing is half made', async () => {
    const message = 'Operation could not be completed as it results in exceeding approved Cores quota.';
    await order({
      method: 'PUT',
      path: '/virtualMachineScaleSets/full',
      status: 409,
      code: 'OperationNotAllowed',
      message,
    });
    await expect(pool('full')).rejects.toMatchObject({ code: 'provider-quota' });
    expect(await bench.provider.pools.getPool('full', options)).toBeUndefined();
  });

  test('for zone-redundant storage makes the version with local storage', async () => {
    const message = 'Storage account type Standard_ZRS is not supported in region westeurope.';
    await order({ method: 'PUT', path: '/versions/3.1.0', status: 400, code: 'InvalidParameter', message });
    await publish('3.1.0');
    const address = at('galleries/images/versions', 'imago', 'node', '3.1.0');
    const made = await others.get<Shown>(address, signal);
    expect(JSON.stringify(made?.properties.publishingProfile)).toContain(
      '"storageAccountType":"Standard_LRS"',
    );
    expect(JSON.stringify(made?.properties.publishingProfile)).not.toContain('Standard_ZRS');
  });

  test('is spared where the name, the generation, or the content cannot be right', async () => {
    const { gallery, galleries } = bench.provider;
    await expect(galleries.createGallery({ name: 'pre-1234' }, options)).rejects.toMatchObject({
      code: 'input-invalid',
      message: expect.stringContaining('community'),
    });
    await expect(gallery.createImage({ ...image, generation: 1 }, options)).rejects.toMatchObject({
      code: 'provider-conflict',
      message: expect.stringContaining('generation'),
    });
    const specialized = { ...image, osState: 'specialized' } as const;
    await expect(gallery.createImage(specialized, options)).rejects.toMatchObject({
      code: 'provider-conflict',
      message: expect.stringContaining('osState'),
    });
    const { diskDigest } = await bench.sealDisk('another');
    const other = { ...(await spec('1.0.0')), source: { kind: 'disk', digest: diskDigest } as const };
    await expect(gallery.createVersion(other, options)).rejects.toMatchObject({
      code: 'provider-conflict',
      message: expect.stringContaining('content never changes'),
    });
  });

  test('an empty database finds versions and pools again by their tags', async () => {
    const fresh = await bench.open();
    const found = await fresh.gallery.getVersion('node', '1.0.0', options);
    expect(found?.source).toEqual((await spec('1.0.0')).source);
    const { items } = await fresh.pools.listPools({ limit: 100 }, options);
    expect(items.find(({ name }) => name === 'kept')?.model).toMatchObject({
      image: 'node',
      digest: 'sha256:2',
    });
  });
});
