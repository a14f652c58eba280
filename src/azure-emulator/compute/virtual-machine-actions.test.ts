// Actions on machines whose refusals were recorded, and extensions.
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createVirtualClock, type VirtualClock } from '../../../test/support/sim/virtual-clock.ts';
import type { Json } from '../arm/json.ts';
import type { Reply } from '../arm/operations.ts';
import { Emulator } from '../emulator.ts';

const subscription = '00000000-0000-0000-0000-000000000000';
const compute = `/subscriptions/${subscription}/resourceGroups/rg/providers/Microsoft.Compute`;
const machine = `${compute}/virtualMachines/vm1`;
const imageReference = { publisher: 'Debian', offer: 'debian-12', sku: '12', version: 'latest' };
let clock: VirtualClock;
let emulator: Emulator;

beforeEach(() => {
  clock = createVirtualClock();
  emulator = new Emulator({ subscription, anySubscription: false, clock });
});
afterEach(() => emulator.close());

function ask(method: string, path: string, body: Json = {}): Promise<Reply> {
  const url = new URL(path, 'https://127.0.0.1');
  if (!url.searchParams.has('api-version')) url.searchParams.set('api-version', '2024-11-01');
  return emulator.handle({ method, url, body, token: emulator.token(), form: new URLSearchParams() });
}

async function make(more: Json = {}, top: Json = {}): Promise<void> {
  const properties = { storageProfile: { imageReference }, osProfile: { computerName: 'vm1' }, ...more };
  const made = await ask('PUT', machine, { location: 'westeurope', ...top, properties });
  expect(made.status).toBe(201);
  await clock.advance(3_600_000);
}

test('only Spot machines are evicted; one that the platform deleted is unknown to it, as recorded', async () => {
  await make();
  expect(await ask('POST', `${machine}/simulateEviction`)).toMatchObject({
    status: 409,
    body: {
      error: {
        code: 'OperationNotAllowed',
        message: "Operation 'simulateEviction' is allowed only for Spot Virtual Machines",
      },
    },
  });
  await ask('DELETE', machine);
  await clock.advance(3_600_000);
  await make({ priority: 'spot', evictionPolicy: 'Delete' });
  expect(await ask('POST', `${machine}/simulateEviction`)).toMatchObject({ status: 204 });
  await clock.advance(3_600_000);
  expect(await ask('GET', machine)).toMatchObject({
    status: 404,
    body: { error: { code: 'NotFound', message: 'The entity was not found in this Azure location.' } },
  });
  expect(await ask('GET', machine)).toMatchObject({ body: { error: { code: 'ResourceNotFound' } } });
});

test('a patch that is not one is refused with its field, as recorded', async () => {
  await make();
  const windowsParameters = { kbNumbersToInclude: ['1111'] };
  expect(await ask('POST', `${machine}/installPatches`, { windowsParameters })).toMatchObject({
    status: 400,
    body: {
      error: { code: 'InvalidParameter', target: 'windowsParameters.kbNumbersToInclude' },
    },
  });
});

test('a publisher that does not exist is named, as recorded', async () => {
  const publishers = `/subscriptions/${subscription}/providers/Microsoft.Compute/locations/westus/publishers`;
  const path = `${publishers}/fooBAR/artifacttypes/vmextension/types/x/versions`;
  expect(await ask('GET', path)).toMatchObject({
    status: 404,
    body: { error: { code: 'NotFound', message: 'Publisher: fooBAR was not found.' } },
  });
});

test('an identity gets its ids, and an extension is shown by its machine until it is deleted', async () => {
  await make({}, { identity: { type: 'SystemAssigned' } });
  expect((await ask('GET', machine)).body).toMatchObject({
    identity: { type: 'SystemAssigned', principalId: expect.any(String), tenantId: expect.any(String) },
  });
  const extension = `${machine}/extensions/one`;
  const properties = {
    publisher: 'p',
    type: 't',
    typeHandlerVersion: '1.0',
    protectedSettings: { key: 'k' },
  };
  const made = await ask('PUT', extension, { location: 'westeurope', properties });
  expect(made).toMatchObject({
    status: 201,
    headers: { 'Azure-AsyncOperation': expect.stringContaining('/operations/') },
    body: { properties: { provisioningState: 'Creating' } },
  });
  await clock.advance(60_000);
  const shown = (await ask('GET', machine)).body;
  expect(shown).toMatchObject({
    resources: [{ name: 'one', properties: { provisioningState: 'Succeeded' } }],
  });
  expect(JSON.stringify(shown)).not.toContain('protectedSettings');
  expect(await ask('DELETE', extension)).toMatchObject({ status: 202 });
  await clock.advance(60_000);
  expect(await ask('DELETE', extension)).toMatchObject({ status: 204 });
  expect((await ask('GET', machine)).body).not.toHaveProperty('resources');
});
