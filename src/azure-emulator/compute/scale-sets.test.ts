import { afterEach, beforeEach, expect, test } from 'vitest';
import { createVirtualClock, type VirtualClock } from '../../../test/support/sim/virtual-clock.ts';
import { isObject, type Json, listAt, part, textAt } from '../arm/json.ts';
import type { Reply } from '../arm/operations.ts';
import { Emulator } from '../emulator.ts';

const subscription = '00000000-0000-0000-0000-000000000000';
const group = `/subscriptions/${subscription}/resourceGroups/rg`;
const compute = `${group}/providers/Microsoft.Compute`;
const image = `${compute}/galleries/g1/images/linux`;
const set = `${compute}/virtualMachineScaleSets/set1`;
const location = 'westeurope';
const hour = 3_600_000;
let clock: VirtualClock;
let emulator: Emulator;

beforeEach(() => {
  clock = createVirtualClock();
  emulator = new Emulator({ subscription, anySubscription: false, clock });
});
afterEach(() => emulator.close());

function ask(
  method: string,
  path: string,
  body: Json = {},
  headers: Record<string, string> = {},
): Promise<Reply> {
  const url = new URL(path, 'https://127.0.0.1');
  if (!url.searchParams.has('api-version')) url.searchParams.set('api-version', '2024-11-01');
  const form = new URLSearchParams();
  return emulator.handle({ method, url, body, headers, token: emulator.token(), form });
}

async function get(path: string): Promise<Json> {
  return (await ask('GET', path)).body ?? {};
}

async function makeVersions(...versions: readonly string[]): Promise<void> {
  await ask('PUT', `${compute}/galleries/g1`, { location });
  const identifier = { publisher: 'p', offer: 'o', sku: 's' };
  await ask('PUT', image, { location, properties: { osType: 'Linux', osState: 'Generalized', identifier } });
  for (const version of versions) {
    const storageProfile = { source: { id: '/subscriptions/other/images/one' } };
    await ask('PUT', `${image}/versions/${version}`, { location, properties: { storageProfile } });
  }
  await clock.advance(hour);
}

function setOf(id: string, capacity: number, more: Json = {}): Json {
  const virtualMachineProfile = { storageProfile: { imageReference: { id } } };
  return {
    location,
    sku: { name: 'Standard_D2s_v5', capacity },
    properties: { virtualMachineProfile, ...more },
  };
}

async function instances(): Promise<readonly Json[]> {
  return listAt(await get(`${set}/virtualMachines`), 'value').filter(isObject);
}

async function versionsOf(): Promise<readonly (string | undefined)[]> {
  const found = await instances();
  return found.map((one) => textAt(one, 'properties', 'storageProfile', 'imageReference', 'exactVersion'));
}

async function statusOf(reply: Reply): Promise<string | undefined> {
  return textAt(await get(reply.headers?.['Azure-AsyncOperation'] ?? ''), 'status');
}

test('a set that names no version takes the newest one each time that it makes an instance', async () => {
  await makeVersions('1.0.0');
  await ask('PUT', set, setOf(image, 1));
  await clock.advance(hour);
  await makeVersions('1.10.0', '1.9.0');
  await ask('PATCH', set, { sku: { capacity: 2 } });
  await clock.advance(hour);
  expect(await versionsOf()).toEqual(['1.0.0', '1.10.0']);
  expect((await instances()).map((one) => part(one, 'properties').latestModelApplied)).toEqual([true, true]);
});

test('a version that is not in the region of the set is refused', async () => {
  await makeVersions('1.0.0');
  const body = { ...setOf(`${image}/versions/1.0.0`, 1), location: 'eastus' };
  expect(await ask('PUT', set, body)).toMatchObject({
    status: 404,
    body: { error: { code: 'GalleryImageNotFound', target: 'imageReference' } },
  });
  expect(await ask('GET', set)).toMatchObject({ status: 404 });
});

test('a set whose version is gone fails to grow, and reports why', async () => {
  await makeVersions('1.0.0');
  await ask('PUT', set, setOf(`${image}/versions/1.0.0`, 1));
  await clock.advance(hour);
  await ask('DELETE', `${image}/versions/1.0.0`);
  await clock.advance(hour);
  const grown = await ask('PATCH', set, { sku: { capacity: 2 } });
  expect(grown.status).toBe(200);
  await clock.advance(hour);
  expect(await get(grown.headers?.['Azure-AsyncOperation'] ?? '')).toMatchObject({
    status: 'Failed',
    error: { code: 'GalleryImageNotFound' },
  });
  expect(await get(set)).toMatchObject({ properties: { provisioningState: 'Failed' } });
});

test('a write with the etag of an earlier state is refused', async () => {
  await makeVersions('1.0.0');
  const first = await ask('PUT', set, setOf(image, 1));
  await clock.advance(hour);
  await ask('PATCH', set, { tags: { by: 'other' } });
  const headers = { 'if-match': String(first.headers?.ETag) };
  expect(await ask('PATCH', set, { tags: {} }, headers)).toMatchObject({ status: 412 });
  expect(await get(set)).toMatchObject({ tags: { by: 'other' }, sku: { capacity: 1 } });
});

test('protected instances are left alone by actions on all, and not by actions on themselves', async () => {
  await makeVersions('1.0.0', '2.0.0');
  await ask('PUT', set, setOf(`${image}/versions/1.0.0`, 2));
  await clock.advance(hour);
  const protectionPolicy = { protectFromScaleSetActions: true, protectFromScaleIn: true };
  await ask('PUT', `${set}/virtualMachines/0`, { location, properties: { protectionPolicy } });
  const imageReference = { id: `${image}/versions/2.0.0` };
  await ask('PATCH', set, { properties: { virtualMachineProfile: { storageProfile: { imageReference } } } });
  await clock.advance(hour);
  await ask('POST', `${set}/manualupgrade`, { instanceIds: ['*'] });
  await clock.advance(hour);
  expect(await versionsOf()).toEqual(['1.0.0', '2.0.0']);
  await ask('POST', `${set}/manualupgrade`, { instanceIds: ['0'] });
  await clock.advance(hour);
  expect(await versionsOf()).toEqual(['2.0.0', '2.0.0']);
});

test('a rolling upgrade goes batch by batch until all instances have the model', async () => {
  await makeVersions('1.0.0', '2.0.0');
  const rollingUpgradePolicy = { maxBatchInstancePercent: 50 };
  await ask(
    'PUT',
    set,
    setOf(`${image}/versions/1.0.0`, 4, { upgradePolicy: { mode: 'Rolling', rollingUpgradePolicy } }),
  );
  await clock.advance(hour);
  const imageReference = { id: `${image}/versions/2.0.0` };
  await ask('PATCH', set, { properties: { virtualMachineProfile: { storageProfile: { imageReference } } } });
  expect(await get(`${set}/rollingUpgrades/latest`)).toMatchObject({
    properties: {
      runningStatus: { code: 'RollingForward' },
      progress: { inProgressInstanceCount: 2, pendingInstanceCount: 2 },
    },
  });
  for (const _ of [1, 2, 3]) {
    await clock.advance(hour);
    await get(`${set}/rollingUpgrades/latest`);
  }
  expect(await get(`${set}/rollingUpgrades/latest`)).toMatchObject({
    properties: { runningStatus: { code: 'Completed' }, progress: { successfulInstanceCount: 4 } },
  });
});

test('fields that are null are left out, and the mode has the case of Azure', async () => {
  await makeVersions('1.0.0');
  const body = setOf(image, 1, { upgradePolicy: { mode: 'manual' } });
  const osDisk = { managedDisk: { storageAccountType: null }, caching: null };
  const storageProfile = { imageReference: { id: image }, osDisk };
  await ask('PUT', set, {
    ...body,
    properties: { ...part(body, 'properties'), virtualMachineProfile: { storageProfile } },
  });
  expect(await get(set)).toMatchObject({
    properties: {
      upgradePolicy: { mode: 'Manual' },
      virtualMachineProfile: {
        storageProfile: {
          osDisk: { managedDisk: { storageAccountType: 'Premium_LRS' }, caching: 'ReadWrite' },
        },
      },
    },
  });
});

test('user data is shown only to those who ask for it', async () => {
  await makeVersions('1.0.0');
  const body = setOf(image, 1);
  const virtualMachineProfile = { ...part(body, 'properties', 'virtualMachineProfile'), userData: 'b25l' };
  await ask('PUT', set, { ...body, properties: { virtualMachineProfile } });
  expect(textAt(await get(set), 'properties', 'virtualMachineProfile', 'userData')).toBeUndefined();
  expect(await get(`${set}?$expand=userData`)).toMatchObject({
    properties: { virtualMachineProfile: { userData: 'b25l' } },
  });
});

test('a template is deployed in the order of its dependencies, and fails with the error of its resource', async () => {
  const deployment = `${group}/providers/Microsoft.Resources/deployments/d1`;
  const template = {
    variables: { network: "[concat('net', '1')]" },
    parameters: { size: { type: 'string', defaultValue: 'Standard_D2s_v5' } },
    resources: [
      {
        ...{ type: 'Microsoft.Compute/virtualMachines', name: 'vm1', apiVersion: '2024-11-01', location },
        dependsOn: ["[resourceId('Microsoft.Network/virtualNetworks', variables('network'))]"],
        properties: {
          hardwareProfile: { vmSize: "[parameters('size')]" },
          storageProfile: { imageReference: { publisher: 'p', offer: 'o', sku: 's', version: 'latest' } },
        },
      },
      {
        ...{
          type: 'Microsoft.Network/virtualNetworks',
          name: "[variables('network')]",
          apiVersion: '2022-01-01',
          location,
        },
        properties: { subnets: [{ name: 'default', properties: {} }] },
      },
    ],
    outputs: { vm: { type: 'string', value: "[resourceId('Microsoft.Compute/virtualMachines', 'vm1')]" } },
  };
  const made = await ask('PUT', deployment, { properties: { mode: 'Incremental', template } });
  expect(made.status).toBe(201);
  expect(await statusOf(made)).toBe('Running');
  await clock.advance(hour);
  expect(await statusOf(made)).toBe('Succeeded');
  expect(await get(deployment)).toMatchObject({
    properties: { outputs: { vm: { value: `${compute}/virtualMachines/vm1` } } },
  });
  expect(
    await get(`${group}/providers/Microsoft.Network/virtualNetworks/net1/subnets/default`),
  ).toMatchObject({ name: 'default' });

  const [vm] = template.resources;
  const wrong = { resources: [{ ...vm, name: 'vm2', location: 'nowhere', dependsOn: [] }] };
  const failed = await ask('PUT', `${deployment}x`, {
    properties: { template: { ...template, outputs: {}, ...wrong } },
  });
  expect(await get(failed.headers?.['Azure-AsyncOperation'] ?? '')).toMatchObject({
    status: 'Failed',
    error: { code: 'DeploymentFailed', details: [{ code: 'LocationNotAvailableForResourceType' }] },
  });
});

test('ordered faults refuse a request, lose a reply, or strike the cloud below', async () => {
  await ask('POST', '/imago/faults', {
    method: 'PUT',
    path: '/galleries/',
    status: 503,
    code: 'ServiceUnavailable',
    retryAfter: 3,
  });
  expect(await ask('PUT', `${compute}/galleries/g1`, { location })).toMatchObject({
    status: 503,
    headers: { 'Retry-After': '3' },
    body: { error: { code: 'ServiceUnavailable' } },
  });
  await ask('POST', '/imago/faults', { method: 'PUT', path: '/galleries/' });
  await expect(ask('PUT', `${compute}/galleries/g1`, { location })).rejects.toThrow(/lost/);
  expect(await ask('GET', `${compute}/galleries/g1`)).toMatchObject({ status: 200 });
  await ask('POST', '/imago/faults', {
    kind: 'fails-later',
    call: 'gallery.createVersion',
    message: 'broken',
  });
  await makeVersions('1.0.0');
  expect(await get(`${image}/versions/1.0.0`)).toMatchObject({ properties: { provisioningState: 'Failed' } });
});
