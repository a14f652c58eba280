// Writes: a dry run writes nothing, a repeated request is done once, also when the daemon died in between.
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { contractOf, type EndpointName, endpointNames, isWrite } from '../../src/api/contract/contract.ts';
import { type ApiBench, finish, makeVersions, openApi } from '../support/api-bench.ts';
import { databaseText } from '../support/database-text.ts';
import { type KubeServer, startKubeServer } from '../support/kube-server.ts';
import { newPublicKey } from '../support/public-key.ts';
import { patience } from '../support/speed.ts';
import { administer, type StoreBench, seedImage, startStoreBench } from '../support/store.ts';
import { inPieces, tinyDisk } from '../support/tiny-disk.ts';

let bench: StoreBench;
let api: ApiBench;

beforeAll(async () => {
  bench = await startStoreBench();
});
afterAll(async () => {
  await bench.stop();
});

const production = { reference: 'node:1.0.0', channel: 'production', why: 'tested' };

describe('a dry run', () => {
  let operation: string;
  let token: string;
  let key: string;
  let kube: KubeServer;
  let numbers: readonly string[];

  beforeAll(async () => {
    api = await openApi(bench);
    const { client } = api;
    numbers = await makeVersions(api, 2);
    for (const number of numbers) {
      const promoted = await client.call('promote', { body: { ...production, reference: `node:${number}` } });
      operation = (await finish(api, promoted)).id;
    }
    const body = { name: 'web', reference: 'node:production', capacity: 2 };
    await finish(api, await client.call('createPool', { body }));
    token = (await client.call('createToken', { body: { owner: 'ann', role: 'viewer' } })).id;
    const input = { reference: 'node:production' };
    const schedule = { name: 'nightly', cron: '0 3 * * *', kind: 'test', subject: 'image/node', input };
    await client.call('createSchedule', { body: schedule });
    await client.call('addFault', { body: { kind: 'fails', call: 'disks.createSnapshot' } });
    const send = async () => (await client.upload('uploadDisk', inPieces(tinyDisk()))).id;
    const disk = { upload: await send(), image: 'disk', file: 'disk.raw' };
    await finish(api, await client.call('importImage', { body: disk }));
    bodies.importImage = { ...disk, upload: await send() };
    await api.store.problems.report('test', {
      kind: 'node-lost',
      subject: 'node/web-000000',
      message: 'It is gone.',
    });
    const [found] = await api.store.problems.openOf('test');
    paths.resolveProblem = { problem: String(found?.id) };
    key = (await client.call('createKey')).id;
    bodies.trustKey = { owner: 'farm', publicKey: newPublicKey() };
    const foreign = { owner: 'farm', publicKey: newPublicKey() };
    paths.untrustKey = { key: (await client.call('trustKey', { body: foreign })).id };
    const path = { image: 'disk', version: '1.0.0' };
    const planned = { path, body: { reason: 'planned', at: '2099-01-01' } };
    await finish(api, await client.call('withdrawVersion', planned));
    await client.call('holdVersion', { path, body: { reason: 'audit' } });
    await client.call('setSupport', { body: { product: 'image', line: 'disk', endsOn: '2099-01-01' } });
    await client.call('addGallery', { body: gallery });
    kube = await startKubeServer();
    bodies.addCluster = { name: 'prod', kubeconfig: kube.kubeconfig };
    await client.call('addCluster', { body: { name: 'prod', kubeconfig: kube.kubeconfig } });
    await client.call('createWebhook', { body: webhook });
    const { version, digest } = await client.call('resolve', { query: { reference: 'node:production' } });
    const from = { reference: 'node:1.0.0', image: 'node', version: '1.0.0', digest };
    await api.store.fleet.putRollout({
      ...{ operation, pool: 'web', image: 'node', version, digest, from },
      ...{ state: 'running', at: '2026-11-18T00:00:00.000Z' },
    });
    await api.sim.machines.createMachine(
      {
        ...{ name: 'kept', image: 'node', version, digest, size: 'small' },
        ...{ firmware: 'uefi', userData: '', tags: {} },
      },
      { signal: AbortSignal.timeout(patience(60_000)), epoch: 0 },
    );
  });
  afterAll(async () => {
    await api.close();
    await kube.close();
  });

  const local = { recipe: 'name: other\n', provider: 'local' };
  const gallery = { name: 'public', provider: 'sim', place: 'public' };
  const webhook = { name: 'ci', url: 'https://ci.example.com/hook', events: ['channel.moved'] };
  const bodies: Partial<Record<EndpointName, unknown>> = {
    shutdown: {},
    lockRecipe: local,
    findOutdated: local,
    explainRebuild: local,
    createHotfix: { from: 'node:1.0.0', set: ['runc=1.2.3'], provider: 'local' },
    verifyImage: { reference: 'disk' },
    findOutdatedPackages: { reference: 'disk:1.0.0' },
    absorbVersion: { recipe: 'name: other\n', reference: 'disk:1.0.0' },
    publishImage: { reference: 'node:1.0.0' },
    revokeKey: { reason: 'it leaked' },
    setSetting: { value: 'sim' },
    resolveProblem: { reason: 'seen' },
    promote: { ...production, back: true },
    overridePromote: { ...production, back: true, override: { gates: ['scan'], reason: 'zero-day' } },
    createChannel: { name: 'canary', after: 'staging' },
    setPolicy: { text: 'version: 1\n', why: 'first' },
    attachScan: {
      ...{ format: 'trivy', tool: 'trivy', dismissed: 0, findings: [], subjects: [] },
      counts: { critical: 0, high: 0, medium: 0, low: 0, unknown: 0 },
      reportDigest: `sha256:${'a'.repeat(64)}`,
    },
    createRelease: { recipe: 'name: other\n', why: 'weekly' },
    scheduleRelease: { recipe: 'name: other\n', why: 'weekly', name: 'weekly', cron: '0 3 * * 1' },
    rollbackChannel: { image: 'node', channel: 'production', from: '1.0.1', why: 'bad' },
    createBuild: { recipe: 'name: other\n' },
    placeRecipeFiles: { list: 'a'.repeat(64) },
    createTest: { reference: 'node:1.0.0' },
    createPool: { name: 'new', reference: 'node:production', capacity: 1 },
    scalePool: { capacity: 7 },
    capturePool: { noDrain: true, unpatched: true, minReady: '0s' },
    setPoolImage: { reference: 'node:1.0.0' },
    withdrawVersion: { reason: 'broken' },
    restoreVersion: { why: 'it was fine' },
    holdVersion: { reason: 'audit' },
    setSupport: { product: 'kubernetes', line: '1.99', endsOn: '2099-01-01' },
    addGallery: { ...gallery, public: true },
    createWebhook: { ...webhook, name: 'other' },
    setPoolCluster: {},
    startCluster: {},
    stopCluster: { erase: true },
    resendDeliveries: {},
    setPoolConfig: { document: '{"schemaVersion":1}' },
    setNodeConfig: { document: '{"schemaVersion":1}' },
    createSchedule: {
      name: 'n',
      cron: '0 0 * * *',
      kind: 'test',
      subject: 's',
      input: { reference: 'node:1.0.0' },
    },
    createToken: { owner: 'bob', role: 'admin' },
    addFault: { kind: 'fails', call: '*' },
    setSimTime: { scale: 7 },
    execOnNode: { command: ['true'] },
    startRolloutSeries: { pools: ['web'] },
  };
  const paths: Partial<Record<EndpointName, Readonly<Record<string, string>>>> = {
    setSetting: { setting: 'provider' },
    unsetSetting: { setting: 'provider' },
  };
  /** Refused as the write would be: it has ended, simulated builds keep no lock, the pool is too small, and nothing here reads archives. */
  const refused: Partial<Record<EndpointName, string>> = {
    cancelOperation: 'operation-ended',
    createHotfix: 'simulation-mixed',
    capturePool: 'capture-refused',
    execOnNode: 'provider-lacks',
    findOutdatedPackages: 'provider-lacks',
    absorbVersion: 'provider-lacks',
  };
  /** These need bytes, a registry or a person with a token; they are shown with one in other tests. */
  const elsewhere = new Set<EndpointName>([
    'approveVersion',
    'restore',
    'uploadDisk',
    'sendRecipeFiles',
    'pushImage',
    'pullImage',
  ]);
  const auditRows = async () => (await api.client.call('listAudit', { query: { limit: 200 } })).items;
  const queries: Partial<Record<EndpointName, string>> = { deleteChannel: '&why=unused' };
  const writes = endpointNames.filter((name) => isWrite(contractOf(name)) && !elsewhere.has(name));

  test.each(writes)('of %s tells what would be done, and writes nothing', async (name) => {
    const { method, url } = contractOf(name);
    const values: Record<string, string> = {
      ...{ pool: 'web', node: 'web-000000', operation, token, schedule: 'nightly', fault: '1' },
      ...{ image: 'disk', version: '1.0.0', channel: 'staging', key, product: 'image', line: 'disk' },
      ...{ gallery: 'public', webhook: 'ci', cluster: 'prod', move: '1', machine: 'kept' },
      ...paths[name],
    };
    const filled = url.replace(/\{(\w+)\}/g, (_, key: string) => values[key] ?? key);
    const body = bodies[name];
    const world = async () => [
      await databaseText(api.url, ['audit']),
      JSON.stringify(await api.sim.control.listFaults()),
    ];
    const [before, audited] = [await world(), await auditRows()];
    const { scale } = await api.sim.control.time();
    const answer = await api.ask({
      method,
      path: `${filled}?dryRun=true${queries[name] ?? ''}`,
      headers: {
        'idempotency-key': randomUUID(),
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    if (refused[name] !== undefined) {
      expect(JSON.parse(answer.text)).toMatchObject({ code: refused[name] });
    } else {
      expect(JSON.parse(answer.text)).toMatchObject({
        dryRun: true,
        endpoint: name,
        plan: expect.arrayContaining([expect.any(String)]),
      });
      expect(answer.status).toBe(200);
    }
    expect(await world()).toEqual(before);
    // Dry runs of admin actions are audited, and no others.
    const isAdmin = contractOf(name).role === 'admin';
    expect((await auditRows()).length - audited.length).toBe(isAdmin ? 1 : 0);
    expect((await api.sim.control.time()).scale).toBe(scale);
    expect(api.stops).toEqual([]);
    expect((await api.client.call('showPool', { path: { pool: 'web' } })).capacity).toBe(2);
  });

  test('that would be refused is refused as the write would be, and leaves no row', async () => {
    const before = await databaseText(api.url);
    const refusals: readonly [EndpointName, string, unknown, string][] = [
      ['createPool', '/v1/pools', { name: 'web', reference: 'node:production', capacity: 1 }, 'pool-exists'],
      ['promote', '/v1/channels/promote', { ...production, channel: 'latest' }, 'channel-managed'],
      ['promote', '/v1/channels/promote', { ...production, reference: 'node:9.9.9' }, 'version-not-found'],
    ];
    for (const [, path, body, code] of refusals) {
      const headers = { 'content-type': 'application/json' };
      const problem = await api.askProblem({
        method: 'POST',
        path: `${path}?dryRun=true`,
        headers,
        body: JSON.stringify(body),
      });
      expect(problem.code).toBe(code);
    }
    expect(await databaseText(api.url)).toBe(before);
  });
});

describe('an idempotency key', () => {
  beforeEach(async () => {
    api = await openApi(bench);
    await seedImage(api.store, 'node', 2, 'available', { simulated: true });
    return () => api.close();
  });

  const operations = async () => (await api.store.operationLists.list({}, { limit: 100 })).items;

  test('gives a repeated request the same answer, and does it once', async () => {
    const { client } = api;
    const options = { idempotencyKey: 'k1' };
    const first = await client.call('promote', { body: production }, options);
    await client.call('waitOperation', { path: { operation: first.id } });
    const again = await client.call('promote', { body: production }, options);
    expect(again).toEqual(first);
    expect(await operations()).toHaveLength(1);
    const rows = (await client.call('listAudit')).items.filter((row) => row.what === 'promote');
    expect(rows).toHaveLength(1);
  });

  test('says on the answer that it was given before', async () => {
    const asked = {
      method: 'POST',
      path: '/v1/channels/promote',
      headers: { 'content-type': 'application/json', 'idempotency-key': 'k1' },
      body: JSON.stringify(production),
    };
    expect((await api.ask(asked)).headers['idempotent-replayed']).toBeUndefined();
    expect((await api.ask(asked)).headers['idempotent-replayed']).toBe('true');
  });

  test('of many requests at once lets one through', async () => {
    const { client } = api;
    const body = { owner: 'ann', role: 'viewer' } as const;
    const asked = await Promise.allSettled(
      Array.from({ length: 8 }, () => client.call('createToken', { body }, { idempotencyKey: 'k1' })),
    );
    expect(asked.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    for (const outcome of asked) {
      if (outcome.status === 'fulfilled') continue;
      expect(['idempotency-running', 'idempotency-withheld']).toContain(outcome.reason.code);
    }
    expect((await client.call('listTokens')).items).toHaveLength(1);
  });

  test('that was used for another request is refused', async () => {
    const { client } = api;
    const options = { idempotencyKey: 'k1' };
    await client.call('promote', { body: production }, options);
    const other = { ...production, why: 'another reason' };
    await expect(client.call('promote', { body: other }, options)).rejects.toMatchObject({
      code: 'idempotency-reused',
      httpStatus: 422,
    });
    await expect(
      client.call('createTest', { body: { reference: 'node:1.0.0' } }, options),
    ).rejects.toMatchObject({
      code: 'idempotency-reused',
    });
  });

  test('belongs to its caller', async () => {
    const ann = await api.clientOf('publisher', 'ann');
    const bob = await api.clientOf('publisher', 'bob');
    const options = { idempotencyKey: 'k1' };
    const first = await ann.call('promote', { body: production }, options);
    const second = await bob.call('promote', { body: production }, options);
    expect(second.id).not.toBe(first.id);
  });

  test('of a request that was refused can be used again', async () => {
    const { client } = api;
    const options = { idempotencyKey: 'k1' };
    const body = { reference: 'node:1.0.7', channel: 'production', why: 'x' };
    await expect(client.call('promote', { body }, options)).rejects.toMatchObject({
      code: 'version-not-found',
    });
    await seedImage(api.store, 'node', 6, 'available', { simulated: true });
    expect(await client.call('promote', { body }, options)).toMatchObject({ kind: 'promote' });
  });

  test('does not bring back a secret that was shown once', async () => {
    const { client } = api;
    const body = { owner: 'ann', role: 'viewer' } as const;
    const made = await client.call('createToken', { body }, { idempotencyKey: 'k1' });
    await expect(client.call('createToken', { body }, { idempotencyKey: 'k1' })).rejects.toMatchObject({
      code: 'idempotency-withheld',
      details: { made: { id: made.id, owner: 'ann' } },
    });
    expect((await client.call('listTokens')).items).toHaveLength(1);
  });

  test('of a request that the daemon died in gives the operation that it had begun', async () => {
    const [number] = await makeVersions(api, 1);
    const pool = { name: 'web', reference: `node:${number}`, capacity: 1 };
    const key = 'k-crash';
    const earlier = (await operations()).length;
    let died = false;
    const dying = await openApi(bench, {
      context: (context) => ({
        ...context,
        catalogue: api.store.catalogue,
        journal: api.store.journal,
        operations: api.context.operations,
        idempotency: {
          ...api.store.idempotency,
          // As if the process had died when the operation was started and the answer not yet kept.
          finish: () => Promise.reject(new Error('dead')),
          forget: () => Promise.reject(new Error('dead')),
        },
        audit: {
          ...context.audit,
          async add() {
            died = true;
            throw new Error('dead');
          },
        },
      }),
    });
    await expect(
      dying.client.call('createPool', { body: pool }, { idempotencyKey: key }),
    ).rejects.toMatchObject({
      httpStatus: 500,
    });
    await dying.close();
    expect(died).toBe(true);
    const [begun] = await operations();
    expect(begun).toMatchObject({ kind: 'pool-create' });
    await finish(api, { id: begun?.id ?? '' });

    // The next daemon has a greater epoch, to which the claim of the dead one is free.
    await raiseEpoch(api.url, 7);
    const store = await bench.freshStore({ url: api.url, epoch: 7 });
    const next = await openApi(bench, {
      context: (context) => ({
        ...context,
        ...{ catalogue: store.catalogue, fleet: store.fleet, journal: store.journal, audit: store.audit },
        idempotency: store.idempotency,
        operations: api.context.operations,
      }),
    });
    try {
      const again = await next.client.call('createPool', { body: pool }, { idempotencyKey: key });
      expect(again.id).toBe(begun?.id);
      expect((await next.client.call('createPool', { body: pool }, { idempotencyKey: key })).id).toBe(
        begun?.id,
      );
    } finally {
      await next.close();
    }
    expect(await operations()).toHaveLength(earlier + 1);
  });
});

describe('whenBusy', () => {
  test('refuses at once, or waits its turn', async () => {
    api = await openApi(bench);
    try {
      const { client, sim } = api;
      const [number] = await makeVersions(api, 1);
      await sim.control.addFault({ kind: 'slow', call: 'pools.createPool', ms: 30_000_000 });
      const body = { name: 'web', reference: `node:${number}`, capacity: 1 };
      const first = await client.call('createPool', { body });
      await expect(client.call('createPool', { body, whenBusy: 'refuse' })).rejects.toMatchObject({
        code: 'operation-busy',
      });
      await client.call('cancelOperation', { path: { operation: first.id } });
    } finally {
      await api.close();
    }
  });
});

describe('a daemon that is not the active one', () => {
  test('refuses writes with the word that they can be sent again, and still answers reads', async () => {
    const store = await bench.freshStore();
    await raiseEpoch(store.database.url, 5);
    const late = await openApi(bench, {
      context: (context) => ({
        ...context,
        ...{
          idempotency: store.idempotency,
          audit: store.audit,
          tokens: store.tokens,
          catalogue: store.catalogue,
        },
      }),
    });
    try {
      const body = { owner: 'ann', role: 'viewer' } as const;
      await expect(late.client.call('createToken', { body })).rejects.toMatchObject({
        code: 'daemon-standby',
        httpStatus: 503,
        retryable: true,
      });
      expect((await late.client.call('listImages')).items).toEqual([]);
    } finally {
      await late.close();
    }
  });
});

/** As a new daemon does when it becomes the active one. */
async function raiseEpoch(url: string, epoch: number): Promise<void> {
  await administer(url, 'update imago.lease set epoch = $1', [epoch]);
}
