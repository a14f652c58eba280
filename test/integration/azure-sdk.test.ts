// Azure's own JavaScript SDK works with the emulator, and every exchange fits Azure's OpenAPI documents.
import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { ComputeManagementClient } from '@azure/arm-compute';
import { AnonymousCredential, PageBlobClient, type StoragePipelineOptions } from '@azure/storage-blob';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Exchange } from '../../src/azure-emulator/emulator.ts';
import { type RunningEmulator, serveEmulator } from '../../src/azure-emulator/server.ts';
import { OpenApi } from '../support/azure/openapi.ts';

const subscription = '00000000-0000-0000-0000-000000000000';
const location = 'westeurope';
const ids = `/subscriptions/${subscription}/resourceGroups/rg/providers/Microsoft.Compute`;
const oracles = process.env.IMAGO_AZURE_ORACLES;
const fast = { updateIntervalInMs: 50 };
const timeout = 120_000;
/** Of the emulator's time, which runs fast: long enough for a slow host. */
const grantSeconds = 100_000_000;
const exchanges: Exchange[] = [];
let emulator: RunningEmulator;
let client: ComputeManagementClient;

beforeAll(async () => {
  const log = (exchange: Exchange) => exchanges.push(exchange);
  emulator = await serveEmulator({ subscription, anySubscription: false, timeScale: 20_000, log });
  const token = { token: emulator.token, expiresOnTimestamp: Date.now() + 3_600_000 };
  const tlsOptions = { ca: readFileSync(emulator.ca) };
  client = new ComputeManagementClient({ getToken: async () => token }, subscription, {
    endpoint: emulator.url,
    tlsOptions,
  });
}, timeout);
afterAll(() => emulator?.close());

async function all<T>(items: AsyncIterable<T>): Promise<readonly T[]> {
  const found: T[] = [];
  for await (const item of items) found.push(item);
  return found;
}

test('an uploaded disk becomes a version in two regions, and its bytes come back', { timeout }, async () => {
  const size = 32 * 2 ** 20;
  await client.disks.createOrUpdate(
    'rg',
    'upload',
    {
      location,
      osType: 'Linux',
      hyperVGeneration: 'V2',
      creationData: { createOption: 'Upload', uploadSizeBytes: size + 512 },
    },
    fast,
  );
  const write = await client.disks.grantAccess(
    'rg',
    'upload',
    { access: 'Write', durationInSeconds: grantSeconds },
    fast,
  );
  const blob = blobOf(write.accessSAS);
  const data = randomBytes(4096);
  await blob.uploadPages(data, 8192, data.length);
  await blob.uploadPages(Buffer.alloc(512, 1), size, 512);
  await client.disks.revokeAccess('rg', 'upload', fast);
  await client.galleries.createOrUpdate('rg', 'g1', { location }, fast);
  await client.galleryImages.createOrUpdate(
    'rg',
    'g1',
    'linux',
    {
      location,
      ...{ osType: 'Linux', osState: 'Generalized', hyperVGeneration: 'V2' },
      identifier: { publisher: 'p', offer: 'o', sku: 's' },
    },
    fast,
  );
  const made = await client.galleryImageVersions.createOrUpdate(
    'rg',
    'g1',
    'linux',
    '1.0.0',
    {
      location,
      publishingProfile: { targetRegions: [{ name: location }, { name: 'northeurope' }] },
      storageProfile: { osDiskImage: { source: { id: `${ids}/disks/upload` } } },
    },
    fast,
  );
  expect(made).toMatchObject({
    provisioningState: 'Succeeded',
    storageProfile: { osDiskImage: { sizeInGB: 1 } },
  });
  const shown = await client.galleryImageVersions.get('rg', 'g1', 'linux', '1.0.0', {
    expand: 'ReplicationStatus',
  });
  expect(shown.replicationStatus).toMatchObject({ aggregatedState: 'Completed' });

  await client.disks.createOrUpdate(
    'rg',
    'restored',
    {
      location,
      creationData: { createOption: 'FromImage', galleryImageReference: { id: made.id ?? '' } },
    },
    fast,
  );
  const read = await client.disks.grantAccess(
    'rg',
    'restored',
    { access: 'Read', durationInSeconds: grantSeconds },
    fast,
  );
  const copy = blobOf(read.accessSAS);
  expect((await copy.getPageRanges()).pageRange).toEqual([
    { offset: 8192, count: 4095 },
    { offset: size, count: 511 },
  ]);
  expect((await copy.downloadToBuffer(8192, data.length)).equals(data)).toBe(true);
  await expect(copy.clearPages(8192, 512)).rejects.toMatchObject({ statusCode: 403 });
});

function blobOf(address: string | undefined): PageBlobClient {
  return new PageBlobClient(address ?? '', new AnonymousCredential(), blobOptions());
}

/** The storage SDK passes these on, but does not name them. */
function blobOptions(): StoragePipelineOptions {
  return { tlsOptions: { ca: readFileSync(emulator.ca) } } as StoragePipelineOptions;
}

test('differences since a snapshot of a blob are exact', { timeout }, async () => {
  const credential = {
    getToken: async () => ({ token: emulator.token, expiresOnTimestamp: Date.now() + 3_600_000 }),
  };
  const blob = new PageBlobClient(`${emulator.url}/account/disks/one.vhd`, credential, blobOptions());
  await blob.create(8192);
  await blob.uploadPages(Buffer.alloc(1024, 1), 0, 1024);
  const { snapshot } = await blob.createSnapshot();
  await blob.clearPages(0, 512);
  await blob.uploadPages(Buffer.alloc(512, 2), 4096, 512);
  const { pageRange, clearRange } = await blob.getPageRangesDiff(0, 8192, snapshot ?? '');
  expect({ pageRange, clearRange }).toEqual({
    pageRange: [{ offset: 4096, count: 511 }],
    clearRange: [{ offset: 0, count: 511 }],
  });
});

test('a scale set is rolled to another version, and fails to grow when the version is gone', {
  timeout,
}, async () => {
  const version = (name: string) => `${ids}/galleries/g1/images/linux/versions/${name}`;
  await client.galleryImageVersions.createOrUpdate(
    'rg',
    'g1',
    'linux',
    '1.1.0',
    {
      location,
      storageProfile: { source: { id: version('1.0.0') } },
    },
    fast,
  );
  const body = (id: string, capacity: number) => ({
    location,
    sku: { name: 'Standard_D2s_v5', capacity },
    upgradePolicy: { mode: 'Manual' as const },
    virtualMachineProfile: {
      storageProfile: { imageReference: { id } },
      userData: Buffer.from('one').toString('base64'),
    },
  });
  await client.virtualMachineScaleSets.createOrUpdate('rg', 'set1', body(version('1.0.0'), 2), fast);
  await client.virtualMachineScaleSets.update(
    'rg',
    'set1',
    {
      virtualMachineProfile: { storageProfile: { imageReference: { id: version('1.1.0') } } },
    },
    fast,
  );
  const before = await all(client.virtualMachineScaleSetVMs.list('rg', 'set1'));
  expect(before.map(({ latestModelApplied }) => latestModelApplied)).toEqual([false, false]);
  await client.virtualMachineScaleSets.updateInstances('rg', 'set1', { instanceIds: ['0'] }, fast);
  const upgraded = await client.virtualMachineScaleSetVMs.get('rg', 'set1', '0');
  expect(upgraded).toMatchObject({
    latestModelApplied: true,
    storageProfile: { imageReference: { exactVersion: '1.1.0' } },
  });

  await client.virtualMachineScaleSetVMs.deallocate('rg', 'set1', '1', fast);
  const disk = (await client.virtualMachineScaleSetVMs.get('rg', 'set1', '1')).storageProfile?.osDisk
    ?.managedDisk?.id;
  const creationData = { createOption: 'Copy', sourceResourceId: disk ?? '' };
  const snapshot = await client.snapshots.createOrUpdate(
    'rg',
    'capture',
    { location, incremental: true, creationData },
    fast,
  );
  expect(snapshot).toMatchObject({ provisioningState: 'Succeeded', osType: 'Linux' });
  await client.virtualMachineScaleSetVMs.start('rg', 'set1', '1', fast);
  await client.galleryImageVersions.createOrUpdate(
    'rg',
    'g1',
    'linux',
    '2.0.0',
    {
      location,
      storageProfile: { osDiskImage: { source: { id: snapshot.id ?? '' } } },
    },
    fast,
  );

  await client.galleryImageVersions.delete('rg', 'g1', 'linux', '1.1.0', fast);
  const grow = client.virtualMachineScaleSets.update(
    'rg',
    'set1',
    { sku: { name: 'Standard_D2s_v5', capacity: 3 } },
    fast,
  );
  await expect(grow).rejects.toThrow(/GalleryImageNotFound/);
  await client.virtualMachineScaleSets.delete('rg', 'set1', fast);
  await expect(client.virtualMachineScaleSets.get('rg', 'set1')).rejects.toMatchObject({
    code: 'ResourceNotFound',
  });
});

test('a version that was deleted softly is hidden, listed and restored', { timeout }, async () => {
  await client.galleries.update('rg', 'g1', { softDeletePolicy: { isSoftDeleteEnabled: true } }, fast);
  await client.galleryImageVersions.delete('rg', 'g1', 'linux', '2.0.0', fast);
  await expect(client.galleryImageVersions.get('rg', 'g1', 'linux', '2.0.0')).rejects.toMatchObject({
    statusCode: 404,
  });
  const deleted = await all(client.softDeletedResource.listByArtifactName('rg', 'g1', 'Images', 'linux'));
  expect(deleted).toMatchObject([{ name: '2.0.0' }]);
  await client.galleryImageVersions.createOrUpdate('rg', 'g1', 'linux', '2.0.0', { location }, fast);
  expect(await client.galleryImageVersions.get('rg', 'g1', 'linux', '2.0.0')).toMatchObject({
    provisioningState: 'Succeeded',
  });
});

test('flexible sets make ordinary machines, and a machine can be made alone', { timeout }, async () => {
  const imageReference = { id: `${ids}/galleries/g1/images/linux` };
  await client.virtualMachineScaleSets.createOrUpdate(
    'rg',
    'flex',
    {
      location,
      orchestrationMode: 'Flexible',
      sku: { name: 'Standard_D2s_v5', capacity: 2 },
      virtualMachineProfile: { storageProfile: { imageReference } },
    },
    fast,
  );
  await client.virtualMachines.createOrUpdate(
    'rg',
    'vm1',
    {
      location,
      hardwareProfile: { vmSize: 'Standard_D2s_v5' },
      storageProfile: { imageReference, dataDisks: [{ lun: 0, createOption: 'Empty', diskSizeGB: 8 }] },
      networkProfile: { networkInterfaces: [{ id: '/subscriptions/other/networkInterfaces/unknown' }] },
    },
    fast,
  );
  const machines = await all(client.virtualMachines.list('rg'));
  expect(machines.map(({ storageProfile }) => storageProfile?.imageReference?.exactVersion)).toEqual([
    '2.0.0',
    '2.0.0',
    '2.0.0',
  ]);
  await client.virtualMachines.powerOff('rg', 'vm1', fast);
  const { statuses } = await client.virtualMachines.instanceView('rg', 'vm1');
  expect(statuses?.map(({ code }) => code)).toEqual(['ProvisioningState/succeeded', 'PowerState/stopped']);
  await client.virtualMachines.delete('rg', 'vm1', fast);
  expect(await all(client.virtualMachines.list('rg'))).toHaveLength(2);
});

test('errors have their code, their status and the id of the request', { timeout }, async () => {
  const missing = await client.snapshots.get('rg', 'none').catch((error: unknown) => error);
  expect(missing).toMatchObject({ statusCode: 404, code: 'ResourceNotFound' });
  const region = client.galleries.createOrUpdate('rg', 'g2', { location: 'nowhere' }, fast);
  await expect(region).rejects.toMatchObject({
    statusCode: 400,
    code: 'LocationNotAvailableForResourceType',
  });
});

test.skipIf(oracles === undefined)("every exchange fits Azure's OpenAPI documents", { timeout }, () => {
  const documents = new OpenApi(oracles ?? '');
  const checked = exchanges
    .filter(({ url }) => !/operations\//i.test(url))
    .map((exchange) => ({ exchange, wrong: documents.check(exchange) }));
  const known = checked.filter(({ wrong }) => wrong !== 'unknown');
  expect(
    known
      .filter(({ wrong }) => wrong !== undefined)
      .map(({ exchange, wrong }) => `${exchange.method} ${exchange.url}: ${wrong}`),
  ).toEqual([]);
  console.log(`${known.length} of ${checked.length} exchanges are in the OpenAPI documents, and fit`);
  expect(known.length).toBeGreaterThan(40);
});
