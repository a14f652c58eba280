import { afterEach, beforeEach, expect, test } from 'vitest';
import { createVirtualClock, type VirtualClock } from '../../test/support/sim/virtual-clock.ts';
import { type Json, listAt, part, textAt } from './arm/json.ts';
import type { Reply } from './arm/operations.ts';
import { Emulator } from './emulator.ts';

const subscription = '00000000-0000-0000-0000-000000000000';
const gallery = `/subscriptions/${subscription}/resourceGroups/rg/providers/Microsoft.Compute/galleries/g1`;
const image = `${gallery}/images/linux`;
const definition = {
  location: 'westeurope',
  properties: {
    osType: 'Linux',
    osState: 'Generalized',
    identifier: { publisher: 'p', offer: 'o', sku: 's' },
  },
};
let clock: VirtualClock;
let emulator: Emulator;

beforeEach(() => {
  clock = createVirtualClock();
  emulator = new Emulator({ subscription, anySubscription: false, clock });
});
afterEach(() => emulator.close());

function ask(method: string, path: string, body: Json = {}, token = emulator.token()): Promise<Reply> {
  const url = new URL(path, 'https://127.0.0.1');
  if (!url.searchParams.has('api-version')) url.searchParams.set('api-version', '2024-03-03');
  return emulator.handle({ method, url, body, token, form: new URLSearchParams() });
}

function versionOf(
  regions: readonly string[],
  more: Json = {},
  source = '/subscriptions/other/images/one',
): Json {
  const publishingProfile = {
    targetRegions: regions.map((name) => ({ name })),
    ...part(more, 'publishingProfile'),
  };
  const storageProfile = { source: { id: source } };
  return { location: 'westeurope', properties: { ...more, publishingProfile, storageProfile } };
}

async function makeImage(): Promise<void> {
  await ask('PUT', gallery, { location: 'westeurope' });
  await ask('PUT', image, definition);
}

async function makeVersion(version: string, body: Json): Promise<void> {
  expect(await ask('PUT', `${image}/versions/${version}`, body)).toMatchObject({ status: 201 });
  await clock.advance(3_600_000);
}

test('a request without a token of this run is refused', async () => {
  const other = new Emulator({ subscription, anySubscription: false, clock });
  for (const token of ['', 'a.b.c', other.token()]) {
    expect(await ask('GET', gallery, {}, token)).toMatchObject({ status: 401 });
  }
  await other.close();
});

test('a version is Creating until all its regions have it, and the operation ends with it', async () => {
  await makeImage();
  const made = await ask('PUT', `${image}/versions/1.0.0`, versionOf(['westeurope', 'North Europe']));
  expect(made.status).toBe(201);
  expect(textAt(made.body, 'properties', 'provisioningState')).toBe('Creating');
  const poll = made.headers?.['Azure-AsyncOperation'] ?? '';
  expect((await ask('GET', poll)).body).toMatchObject({ status: 'InProgress' });
  const shown = await ask('GET', `${image}/versions/1.0.0?$expand=ReplicationStatus`);
  expect(shown.body).toMatchObject({ properties: { replicationStatus: { aggregatedState: 'InProgress' } } });
  await clock.advance(3_600_000);
  expect((await ask('GET', poll)).body).toMatchObject({ status: 'Succeeded' });
  const ready = await ask('GET', `${image}/versions/1.0.0?$expand=ReplicationStatus`);
  expect(ready.body).toMatchObject({
    properties: { provisioningState: 'Succeeded', replicationStatus: { aggregatedState: 'Completed' } },
  });
});

test('the source of a version never changes, also by a second caller', async () => {
  await makeImage();
  await makeVersion('1.0.0', versionOf(['westeurope']));
  const other = versionOf(['westeurope'], {}, '/subscriptions/other/images/two');
  const refused = await ask('PUT', `${image}/versions/1.0.0`, other);
  expect(refused).toMatchObject({ status: 409, body: { error: { code: 'PropertyChangeNotAllowed' } } });
});

test('a guarded version is not deleted before its end of life, and a parent not before its children', async () => {
  await makeImage();
  const more = {
    publishingProfile: { endOfLifeDate: '2099-01-01T00:00:00Z' },
    safetyProfile: { blockDeletionBeforeEndOfLife: true },
  };
  await makeVersion('1.0.0', versionOf(['westeurope'], more));
  expect(await ask('DELETE', `${image}/versions/1.0.0`)).toMatchObject({
    status: 409,
    body: { error: { code: 'DeleteGalleryImageVersionBlockedBeforeEndOfLife' } },
  });
  expect(await ask('DELETE', image)).toMatchObject({ status: 409 });
  expect(await ask('DELETE', gallery)).toMatchObject({ status: 409 });
  expect(await ask('GET', image)).toMatchObject({ body: { properties: { provisioningState: 'Succeeded' } } });
});

test('a deleted version is Deleting, then gone, and deleting it again is 204', async () => {
  await makeImage();
  await makeVersion('1.0.0', versionOf(['westeurope']));
  expect(await ask('DELETE', `${image}/versions/1.0.0`)).toMatchObject({ status: 202 });
  expect(await ask('GET', `${image}/versions/1.0.0`)).toMatchObject({
    body: { properties: { provisioningState: 'Deleting' } },
  });
  await clock.advance(3_600_000);
  expect(await ask('GET', `${image}/versions/1.0.0`)).toMatchObject({ status: 404 });
  expect(await ask('DELETE', `${image}/versions/1.0.0`)).toMatchObject({ status: 204 });
  expect(await ask('DELETE', image)).toMatchObject({ status: 202 });
});

test('addresses are compared without regard to case', async () => {
  await makeImage();
  expect(await ask('GET', image.toUpperCase().replace('/SUBSCRIPTIONS', '/subscriptions'))).toMatchObject({
    status: 200,
    body: { id: image },
  });
});

test('a list comes in pages, each item once', async () => {
  await ask('PUT', gallery, { location: 'westeurope' });
  for (let number = 0; number < 120; number++) {
    const identifier = { publisher: 'p', offer: 'o', sku: String(number) };
    const body = { ...definition, properties: { ...definition.properties, identifier } };
    expect(await ask('PUT', `${gallery}/images/d${number}`, body)).toMatchObject({ status: 201 });
  }
  const first = await ask('GET', `${gallery}/images`);
  const second = await ask('GET', textAt(first.body, 'nextLink') ?? '');
  const names = [first, second].flatMap(({ body }) =>
    listAt(body, 'value').map((item) => textAt(item, 'name')),
  );
  expect(new Set(names).size).toBe(120);
  expect(names).toHaveLength(120);
  expect(second.body?.nextLink).toBeUndefined();
});

test('a spent budget is 429 with Retry-After, until its window has passed', async () => {
  await ask('PUT', gallery, {
    location: 'westeurope',
    properties: { sharingProfile: { permissions: 'Groups' } },
  });
  const share = () => ask('POST', `${gallery}/share`, { operationType: 'Reset' });
  for (let count = 0; count < 10; count++) expect((await share()).status).toBe(202);
  const refused = await share();
  expect(refused).toMatchObject({ status: 429, headers: { 'Retry-After': '180' } });
  await clock.advance(180_000);
  expect((await share()).status).toBe(202);
});

test('names, regions and subscriptions that do not exist are refused', async () => {
  await makeImage();
  expect(await ask('PUT', gallery.replace('g1', 'a-b'), { location: 'westeurope' })).toMatchObject({
    status: 400,
  });
  expect(await ask('PUT', gallery.replace('g1', 'g2'), { location: 'mars' })).toMatchObject({ status: 400 });
  expect(await ask('PUT', `${image}/versions/1.0`, versionOf(['westeurope']))).toMatchObject({ status: 400 });
  expect(await ask('PUT', `${image}/versions/1.0.0`, versionOf(['mars']))).toMatchObject({ status: 400 });
  expect(await ask('GET', gallery.replace(subscription, 'other'))).toMatchObject({ status: 404 });
});
