import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createVirtualClock } from '../../../test/support/sim/virtual-clock.ts';
import { type Json, textAt } from '../arm/json.ts';
import type { Reply } from '../arm/operations.ts';
import { Emulator } from '../emulator.ts';

const subscription = '00000000-0000-0000-0000-000000000000';
const group = `/subscriptions/${subscription}/resourceGroups/rg`;
const compute = `${group}/providers/Microsoft.Compute`;
const location = 'westeurope';
const clock = createVirtualClock();
let state: string;
let emulator: Emulator;

beforeEach(async () => {
  state = await mkdtemp(join(tmpdir(), 'imago-azure-state-'));
  emulator = start();
});
afterEach(async () => {
  await emulator.close();
  await rm(state, { recursive: true });
});

function start(): Emulator {
  return new Emulator({ subscription, anySubscription: true, clock, state });
}

function ask(method: string, path: string, body: Json = {}): Promise<Reply> {
  const url = new URL(path, 'https://127.0.0.1');
  if (!url.searchParams.has('api-version')) url.searchParams.set('api-version', '2024-11-01');
  return emulator.handle({ method, url, body, token: emulator.token(), form: new URLSearchParams() });
}

async function restart(): Promise<void> {
  await emulator.close();
  emulator = start();
}

async function makeSet(): Promise<Reply> {
  const imageReference = { publisher: 'p', offer: 'o', sku: 's', version: 'latest' };
  const properties = { virtualMachineProfile: { storageProfile: { imageReference } } };
  const sku = { name: 'Standard_D2s_v5', capacity: 2 };
  return ask('PUT', `${compute}/virtualMachineScaleSets/set1`, { location, sku, properties });
}

test('groups, sets, instances and work in progress are there after a restart', async () => {
  await ask('PUT', group, { location });
  const made = await makeSet();
  await restart();
  expect(await ask('GET', group)).toMatchObject({ status: 200 });
  const poll = made.headers?.['Azure-AsyncOperation'] ?? '';
  expect(textAt((await ask('GET', poll)).body, 'status')).toBe('InProgress');
  await clock.advance(3_600_000);
  expect(textAt((await ask('GET', poll)).body, 'status')).toBe('Succeeded');
  expect((await ask('GET', `${compute}/virtualMachineScaleSets/set1/virtualMachines`)).body).toMatchObject({
    value: [{ instanceId: '0' }, { instanceId: '1' }],
  });
});

test('the bytes of blobs are there after a restart', async () => {
  const url = new URL('https://127.0.0.1/account/disks/one.vhd');
  const pages = new URL('?comp=page', url);
  const token = emulator.token();
  const size = { 'x-ms-blob-type': 'PageBlob', 'x-ms-blob-content-length': '1024' };
  await emulator.handleBlob({ method: 'PUT', url, headers: size, body: Buffer.alloc(0) }, token);
  const body = Buffer.alloc(512, 7);
  await emulator.handleBlob({ method: 'PUT', url: pages, headers: { range: 'bytes=512-1023' }, body }, token);
  await restart();
  const read = await emulator.handleBlob(
    { method: 'GET', url, headers: {}, body: Buffer.alloc(0) },
    emulator.token(),
  );
  expect([read.body?.[511], read.body?.[512]]).toEqual([0, 7]);
});

test('a group is deleted with everything in it', async () => {
  await ask('PUT', group, { location });
  await makeSet();
  await ask('PUT', `${compute}/galleries/g1`, { location });
  expect((await ask('GET', `${group}/resources`)).body).toMatchObject({
    value: [{ name: 'set1' }, { name: 'g1' }],
  });
  const deleted = await ask('DELETE', group);
  expect(deleted.status).toBe(202);
  expect(await ask('GET', deleted.headers?.Location ?? '')).toMatchObject({ status: 200 });
  for (const path of [group, `${compute}/galleries/g1`, `${compute}/virtualMachineScaleSets/set1`]) {
    expect(await ask('GET', path)).toMatchObject({ status: 404 });
  }
  expect(await ask('PUT', `${compute}/galleries/g1`, { location })).toMatchObject({ status: 201 });
});
