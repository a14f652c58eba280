// A retry that the daemon died in: the request that is sent again gets the run that the first one began.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type ApiBench, finish, makeVersions, openApi } from '../support/api-bench.ts';
import { administer, type StoreBench, startStoreBench } from '../support/store.ts';

let bench: StoreBench;
let api: ApiBench;

beforeAll(async () => {
  bench = await startStoreBench();
  api = await openApi(bench);
});
afterAll(async () => {
  await api.close();
  await bench.stop();
});

/** A daemon beside the first one, over its store and operations, that dies before it answers. */
function openDying(): Promise<ApiBench> {
  const dead = () => Promise.reject(new Error('dead'));
  const { catalogue, journal, idempotency, audit } = api.store;
  return openApi(bench, {
    context: (context) => ({
      ...context,
      ...{ catalogue, journal, operations: api.context.operations },
      idempotency: { ...idempotency, finish: dead, forget: dead },
      audit: { ...audit, add: dead },
    }),
  });
}

/** The next daemon has a greater epoch, to which the claim of the dead one is free. */
async function openNext(): Promise<ApiBench> {
  await administer(api.url, 'update imago.lease set epoch = 7');
  const { catalogue, journal, idempotency, audit } = await bench.freshStore({ url: api.url, epoch: 7 });
  return openApi(bench, {
    context: (context) => ({
      ...context,
      ...{ catalogue, journal, idempotency, audit, operations: api.context.operations },
    }),
  });
}

test('retryOperation, sent again after a crash with the same key, is one new run', async () => {
  const [number] = await makeVersions(api, 1);
  const body = { reference: `node:${number}`, channel: 'production', why: 'tested' };
  const path = { operation: (await finish(api, await api.client.call('promote', { body }))).id };
  const retries = async () =>
    (await api.client.call('listOperations', { query: {} })).items.filter(
      ({ retryOf }) => retryOf === path.operation,
    );

  const dying = await openDying();
  const options = { idempotencyKey: 'k-retry' };
  await expect(dying.client.call('retryOperation', { path }, options)).rejects.toMatchObject({
    httpStatus: 500,
  });
  await dying.close();
  const [begun, ...others] = await retries();
  expect(others).toEqual([]);
  await finish(api, { id: begun?.id ?? '' });

  const next = await openNext();
  try {
    expect((await next.client.call('retryOperation', { path }, options)).id).toBe(begun?.id);
    expect((await next.client.call('retryOperation', { path }, options)).id).toBe(begun?.id);
  } finally {
    await next.close();
  }
  expect(await retries()).toHaveLength(1);
});
