// Every endpoint once along the life of an image, over a real socket; each answer is compared with the contract.
import { createHash } from 'node:crypto';
import { PassThrough, Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { gunzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { endpointNames } from '../../src/api/contract/contract.ts';
import type { ResponseOf } from '../../src/api/contract/types.ts';
import { type ApiBench, openApi } from '../support/api-bench.ts';
import { fakeAccess } from '../support/fake-access.ts';
import { startKubeServer } from '../support/kube-server.ts';
import { newPublicKey } from '../support/public-key.ts';
import { patience } from '../support/speed.ts';
import { type StoreBench, startStoreBench } from '../support/store.ts';
import { inPieces, tinyDisk } from '../support/tiny-disk.ts';

const recipe = `name: node
numbering: semver
kubernetes: 1.34.2
components:
  - name: runc
    version: 1.1.15
`;

let bench: StoreBench;
let api: ApiBench;
const called = new Set<string>();

beforeAll(async () => {
  bench = await startStoreBench();
  api = await openApi(bench);
  const { client } = api;
  for (const way of ['call', 'items'] as const) {
    const original = client[way] as (...words: unknown[]) => unknown;
    Object.assign(client, {
      [way]: (name: string, ...rest: unknown[]) => {
        called.add(name);
        return original(name, ...rest);
      },
    });
  }
});
afterAll(async () => {
  await api.close();
  await bench.stop();
});

type Operation = ResponseOf<'showOperation'>;

async function finish(started: Operation): Promise<Operation> {
  for (;;) {
    const now = await api.client.call('waitOperation', {
      path: { operation: started.id },
      query: { seconds: 20 },
    });
    if (now.state === 'failed' || now.state === 'cancelled') throw new Error(JSON.stringify(now.error));
    if (now.state === 'succeeded') return now;
  }
}

/** No node has been ready for long enough: every rule is shown, and nothing is captured. */
async function refuseCapture(path: { readonly pool: string }): Promise<void> {
  const { client } = api;
  const body = { unpatched: true, minReady: '9000d' };
  const choice = await client.call('explainCapture', { path, body });
  expect(choice).toMatchObject({ refusal: 'No node is a candidate.', isPatchWaived: true });
  expect(choice.nodes[0]?.rules.find(({ rule }) => rule === 'ready')).toMatchObject({ isMet: false });
  const capture = client.call('capturePool', { path, body });
  await expect(capture.then(finish)).rejects.toThrow();
}

/** Moves a pool in waves; the window of the first attempt is closed for days. */
async function rollOut(path: { readonly pool: string }): Promise<void> {
  const { client } = api;
  const day = new Date(Date.now() + 3 * 86_400_000).toUTCString().slice(0, 3);
  const windows = [`${day} 01:00-02:00`];
  const started = await client.call('startRollout', { path, body: { bake: '0s', windows } });
  const sentence = async () => (await client.call('showRollout', { path })).sentence;
  await expect.poll(sentence).toContain('canaries waits: its window opens at');
  expect(await client.call('pauseRollout', { path })).toMatchObject({ paused: true });
  await expect.poll(sentence).toBe('canaries waits: it is paused');
  expect((await client.call('resumeRollout', { path })).paused).toBeUndefined();
  const waiting = await client.call('showRollout', { path });
  expect(waiting.nodes[0]).toMatchObject({
    wave: 'canaries',
    state: 'waiting',
    expectedAt: expect.any(String),
  });
  await client.call('cancelRollout', { path });
  await expect(finish(started)).rejects.toThrow();
  await expect(client.call('pauseRollout', { path })).rejects.toMatchObject({ code: 'operation-ended' });
  const plan = await client.call('planRollout', { path, body: { bake: '0s' } });
  expect(plan).toMatchObject({ pool: path.pool, maxUnavailable: 1, extraNodes: 0 });
  const { result } = await finish(await client.call('startRollout', { path, body: { bake: '0s' } }));
  expect(result).toMatchObject({ name: path.pool, failed: [] });
  const { from } = await client.call('showRollout', { path });
  await finish(await client.call('undoRollout', { path, body: { now: true } }));
  const series = { pools: [path.pool], bake: '0s' };
  const moved = await finish(await client.call('startRolloutSeries', { body: series }));
  expect(moved.result).toEqual({ pools: [path.pool] });
  expect(await client.call('showPool', { path })).toMatchObject({ version: from.version });
}

describe('the life of an image', () => {
  test('the daemon tells how it is', async () => {
    const { client } = api;
    expect((await client.call('status')).daemon.pid).toBe(process.pid);
    expect((await client.call('doctor')).ok).toBe(true);
    expect(await client.call('version')).toMatchObject({ version: '0.0.0-test', api: 'v1' });
  });

  test('a recipe becomes a version', async () => {
    const { client } = api;
    const built = await finish(
      await client.call('createBuild', { body: { recipe, fileName: 'imago.yaml' } }),
    );
    expect(built).toMatchObject({ kind: 'build', subject: 'image/node', by: 'local', state: 'succeeded' });
    expect(built.result).toMatchObject({ image: 'node', reused: false });
    expect((await client.call('listImages')).items.map(({ name }) => name)).toEqual(['node']);
    expect(await client.call('showImage', { path: { image: 'node' } })).toMatchObject({
      numbering: 'semver',
    });
    const versions = await client.call('listVersions', { path: { image: 'node' } });
    expect(versions.items).toHaveLength(1);
    expect(versions.items[0]).toMatchObject({ state: 'candidate', kubernetes: '1.34.2' });
  });

  test('it is tested, and the evidence is kept', async () => {
    const { client } = api;
    const { version } = await client.call('resolve', { query: { reference: 'node' } });
    await finish(await client.call('createTest', { body: { reference: `node:${version}` } }));
    const path = { image: 'node', version };
    expect(await client.call('showVersion', { path })).toMatchObject({ state: 'available' });
    const evidence = await client.call('listEvidence', { path });
    expect(evidence.items).toMatchObject([{ kind: 'test', passed: true }]);
  });

  test('channels move, back too, and every move is kept', async () => {
    const { client } = api;
    const first = (await client.call('resolve', { query: { reference: 'node' } })).version;
    const promote = (reference: string) =>
      client.call('promote', { body: { reference, channel: 'production', why: 'tested' } });
    await finish(await promote(`node:${first}`));
    const built = await finish(
      await client.call('createBuild', { body: { recipe: recipe.replace('1.1.15', '1.1.16') } }),
    );
    const second = (built.result as { version: string }).version;
    await finish(await client.call('createTest', { body: { reference: `node:${second}` } }));
    await finish(await promote(`node:${second}`));
    await finish(
      await client.call('rollbackChannel', {
        body: { image: 'node', channel: 'production', from: second, why: 'it was bad' },
      }),
    );
    const channels = await client.call('listChannels', { path: { image: 'node' } });
    expect(channels.items.find(({ name }) => name === 'production')).toMatchObject({ version: first });
    const moves = await client.call('listMoves', {
      path: { image: 'node' },
      query: { channel: 'production' },
    });
    expect(moves.items.map(({ to }) => to)).toEqual([first, second, first]);
  });

  test('a pool starts from a channel, and each node tells which version it was made from, and why', async () => {
    const { client } = api;
    const body = { name: 'web', reference: 'node:production', capacity: 3 };
    await finish(await client.call('createPool', { body }));
    expect((await client.call('listPools')).items).toMatchObject([
      { name: 'web', capacity: 3, state: 'ready' },
    ]);
    const pool = await client.call('showPool', { path: { pool: 'web' } });
    const nodes = await client.call('listNodes', { query: { pool: 'web' } });
    expect(nodes.items).toHaveLength(3);
    for (const { name } of nodes.items) {
      expect(await client.call('showNode', { path: { node: name } })).toMatchObject({
        pool: 'web',
        power: 'running',
        schedulable: true,
        state: 'ready',
        version: pool.version,
        digest: pool.digest,
      });
      expect(await client.call('whichNode', { path: { node: name } })).toMatchObject({
        version: pool.version,
        digest: pool.digest,
        reference: 'node:production',
        channel: 'production',
        move: pool.move,
      });
    }
  });

  test('people look into a node: its console, how it came up, and a shell both ways at once', async () => {
    const { client, sim } = api;
    const [node] = (await client.call('listNodes', { query: { limit: 1 } })).items;
    const path = { node: node?.name ?? '' };
    await expect(client.call('readConsole', { path })).rejects.toMatchObject({ code: 'provider-lacks' });
    const access = fakeAccess();
    Object.assign(sim, { access });
    expect((await client.call('readConsole', { path, query: { lines: 2 } })).lines).toEqual(['two', 'three']);
    expect(await client.call('showTimeline', { path })).toMatchObject({ node: node?.name, readyMs: 1500 });
    const { content } = await client.download('followConsole', { path, query: { lines: 1 } });
    expect((await buffer(content)).toString()).toBe('three\nfour\n');

    const typed = new PassThrough();
    const type = (message: object) => typed.write(`${JSON.stringify(message)}\n`);
    const input = (text: string) => type({ input: Buffer.from(text).toString('base64') });
    const said = await client.duplex('openShell', { path }, typed);
    const chunks = said[Symbol.asyncIterator]();
    type({ rows: 24, columns: 80 });
    input('héllo');
    expect(Buffer.from((await chunks.next()).value).toString()).toBe('héllo');
    expect({ open: access.open, sizes: access.sizes }).toEqual({
      open: 1,
      sizes: [{ rows: 24, columns: 80 }],
    });
    input('exit');
    expect(Buffer.from((await chunks.next()).value).toString()).toBe('exit');
    expect((await chunks.next()).done).toBe(true);
    await expect.poll(() => access.open).toBe(0);
    typed.end();

    const brief = new PassThrough();
    const heard = buffer(await client.duplex('openShell', { path }, brief));
    brief.end(`${JSON.stringify({ input: Buffer.from('bye').toString('base64') })}\n`);
    expect('bye'.startsWith((await heard).toString())).toBe(true);

    const broken = new PassThrough();
    const cut = buffer(await client.duplex('openShell', { path }, broken));
    broken.write('{"rows": -1}\n');
    expect((await cut).toString()).toBe('');
    await expect.poll(() => access.open).toBe(0);

    const left = new PassThrough();
    const leaving = new AbortController();
    const options = { signal: leaving.signal };
    const unheard = buffer(await client.duplex('openShell', { path }, left, options)).catch(() => 'cut');
    leaving.abort();
    expect(await unheard).toBe('cut');
    await expect.poll(() => access.open).toBe(0);
    const audited = (await client.call('listAudit', { query: { limit: 1 } })).items;
    expect(audited).toMatchObject([{ what: 'openShell', subject: `/v1/nodes/${node?.name}/shell` }]);
    called.add('followConsole').add('openShell');

    const words = ['printf', '%s|', "it's", 'two words', '$HOME'];
    const printed = await client.call('execOnNode', { path, body: { command: words } });
    expect(printed).toMatchObject({ exitCode: 0, stdout: "it's|two words|$HOME|" });
    const failed = await client.call('execOnNode', {
      path,
      body: { command: ['sh', '-c', 'echo no >&2; exit 7'] },
    });
    expect(failed).toMatchObject({ exitCode: 7, stderr: 'no\n' });
    const [row] = (await client.call('listAudit', { query: { limit: 1 } })).items;
    expect(row).toMatchObject({ what: 'execOnNode', after: { program: 'sh', exitCode: 7 } });
    expect(JSON.stringify(row)).not.toContain('echo no');
  });

  test('a pool is scaled, given another image, and deleted; its nodes are remembered', async () => {
    const { client } = api;
    const path = { pool: 'web' };
    const [first] = (await client.call('listNodes', { query: { limit: 1 } })).items;
    await finish(await client.call('scalePool', { path, body: { capacity: 5 } }));
    expect((await client.call('listNodes', { query: { pool: 'web' } })).items).toHaveLength(5);
    const document = JSON.stringify({ schemaVersion: 1, time: { zone: 'Europe/Berlin' } });
    await finish(await client.call('setPoolConfig', { path, body: { document } }));
    expect((await client.call('showPool', { path })).nodeConfig).toContain('Europe/Berlin');
    const node = { node: first?.name ?? '' };
    await finish(await client.call('setNodeConfig', { path: node, body: { document } }));
    const draining = { schemaVersion: 1, time: { zone: 'Europe/Berlin' }, components: { kubelet: '9.9.9' } };
    const body = { document: JSON.stringify(draining) };
    await finish(await client.call('setNodeConfig', { path: node, body }));
    expect(await client.call('showNodeConfig', { path: node })).toMatchObject({
      ...{ node: first?.name, pool: 'web', phase: 'ready', waiting: 'drain' },
      config: { document: { time: { zone: 'Europe/Berlin' } } },
      wanted: { document: { components: { kubelet: '9.9.9' } } },
      pending: [{ field: 'components.kubelet', cost: 'drain' }],
    });
    await client.call('allowNodeConfig', { path: node });
    await expect
      .poll(async () => (await client.call('showNodeConfig', { path: node })).config?.document)
      .toMatchObject({ components: { kubelet: '9.9.9' } });
    const newest = (await client.call('resolve', { query: { reference: 'node' } })).version;
    await finish(
      await client.call('setPoolImage', { path, body: { reference: `node:${newest}`, pin: true } }),
    );
    expect(await client.call('showPool', { path })).toMatchObject({ version: newest });
    await rollOut(path);
    await refuseCapture(path);
    for (const way of ['restartNode', 'replaceNode'] as const) {
      expect((await finish(await client.call(way, { path: node }))).result).toEqual(node);
    }
    await finish(await client.call('deleteNode', { path: node, query: {} }));
    expect(await client.call('showPool', { path })).toMatchObject({ capacity: 4 });
    await finish(await client.call('setPoolCluster', { path, body: {} }));
    expect(await client.call('showPool', { path })).not.toHaveProperty('cluster');
    await finish(await client.call('deletePool', { path }));
    expect((await client.call('listPools')).items).toEqual([]);
    expect((await client.call('listNodes')).items).toEqual([]);
    const gone = await client.call('showNode', { path: { node: first?.name ?? '' } });
    expect(gone).toMatchObject({ power: 'stopped', state: 'gone' });
  });

  test('a machine of no pool is listed, shown, and taken away', async () => {
    const { client } = api;
    expect(await client.call('listMachines')).toEqual({ items: [] });
    const { version, digest } = await client.call('resolve', { query: { reference: 'node' } });
    await api.sim.machines.createMachine(
      {
        ...{ name: 'kept', image: 'node', version, digest, size: 'small' },
        ...{ firmware: 'uefi', userData: '', tags: {} },
      },
      { signal: AbortSignal.timeout(patience(60_000)), epoch: 0 },
    );
    expect((await client.call('listMachines')).items).toMatchObject([{ name: 'kept', provider: 'sim' }]);
    const path = { machine: 'kept' };
    expect(await client.call('showMachine', { path })).toMatchObject({
      name: 'kept',
      version,
      firmware: 'uefi',
    });
    await client.call('deleteMachine', { path });
    await expect.poll(async () => (await client.call('listMachines')).items).toEqual([]);
    await expect(client.call('deleteMachine', { path })).rejects.toMatchObject({ code: 'machine-not-found' });
  });

  test('operations are listed by what they are about, with their logs and children', async () => {
    const { client } = api;
    const builds = await client.call('listOperations', { query: { kind: 'build', state: 'succeeded' } });
    expect(builds.items).toHaveLength(2);
    const path = { operation: builds.items[0]?.id ?? '' };
    expect(await client.call('showOperation', { path })).toEqual(builds.items[0]);
    expect((await client.call('listOperationLogs', { path })).items).toBeInstanceOf(Array);
    expect((await client.call('listOperationChildren', { path })).items).toEqual([]);
    const all: Operation[] = [];
    for await (const item of client.items('listOperations', { query: { limit: 2 } })) all.push(item);
    expect(new Set(all.map(({ id }) => id)).size).toBe(all.length);
    expect(all.length).toBeGreaterThan(6);
  });

  test('an operation is cancelled, and tried again', async () => {
    const { client, sim } = api;
    await sim.control.addFault({ kind: 'slow', call: 'pools.createPool', ms: 100_000_000 });
    const body = { name: 'slow', reference: 'node:production', capacity: 1 };
    const started = await client.call('createPool', { body });
    const path = { operation: started.id };
    expect((await client.plan('cancelOperation', { path })).plan[0]).toMatch(
      /^Undo and stop pool-create of pool\/slow/,
    );
    await client.call('cancelOperation', { path });
    let now = await client.call('showOperation', { path });
    while (now.state !== 'cancelled')
      now = await client.call('waitOperation', { path, query: { seconds: 20 } });
    expect(now.cancelRequestedBy).toBe('local');
    const retried = await client.call('retryOperation', { path });
    expect(retried).toMatchObject({ retryOf: started.id, kind: 'pool-create' });
    await finish(retried);
    await expect(client.call('cancelOperation', { path })).rejects.toMatchObject({ code: 'operation-ended' });
  });

  test('schedules are made, shown and ended', async () => {
    const { client } = api;
    const body = {
      name: 'nightly',
      cron: '0 3 * * *',
      timeZone: 'Europe/Paris',
      kind: 'test',
      subject: 'image/node',
      input: { reference: 'node:production' },
    };
    expect(await client.call('createSchedule', { body })).toMatchObject({ name: 'nightly', by: 'local' });
    expect(await client.call('createSchedule', { body })).toMatchObject({ name: 'nightly' });
    await expect(
      client.call('createSchedule', { body: { ...body, cron: '0 4 * * *' } }),
    ).rejects.toMatchObject({
      code: 'schedule-exists',
    });
    expect((await client.call('listSchedules')).items).toMatchObject([
      { name: 'nightly', timeZone: 'Europe/Paris' },
    ]);
    await client.call('deleteSchedule', { path: { schedule: 'nightly' } });
    expect((await client.call('listSchedules')).items).toEqual([]);
    await expect(client.call('deleteSchedule', { path: { schedule: 'nightly' } })).rejects.toMatchObject({
      code: 'schedule-not-found',
    });
  });

  test('tokens are made, listed without their secret, and revoked', async () => {
    const { client } = api;
    const made = await client.call('createToken', {
      body: { owner: 'ann', role: 'viewer', expiresInDays: 1 },
    });
    expect(made.secret.length).toBeGreaterThan(20);
    const listed = await client.call('listTokens');
    expect(JSON.stringify(listed)).not.toContain(made.secret);
    expect(await client.call('showIdentity')).toMatchObject({ who: 'local', role: 'admin' });
    expect(await client.call('revokeToken', { path: { token: made.id } })).toEqual({ id: made.id });
    const headers = { authorization: `Bearer ${made.secret}` };
    expect((await api.askProblem({ path: '/v1/status', headers, tcp: true })).status).toBe(401);
  });

  test('the simulation is steered', async () => {
    const { client } = api;
    const fault = await client.call('addFault', {
      body: { kind: 'fails', call: 'pools.setCapacity', count: 'always' },
    });
    expect((await client.call('listFaults')).items).toContainEqual(fault);
    expect(await client.call('removeFault', { path: { fault: String(fault.id) } })).toEqual(fault);
    const before = await client.call('showSimTime');
    const after = await client.call('setSimTime', { body: { advanceMs: 3_600_000 } });
    expect(Date.parse(after.now) - Date.parse(before.now)).toBeGreaterThanOrEqual(3_600_000);
  });

  test('every write left its row in the audit', async () => {
    const { client } = api;
    const rows = [];
    for await (const row of client.items('listAudit', { query: { limit: 5 } })) rows.push(row);
    const what = new Set(rows.map((row) => row.what));
    for (const name of ['createBuild', 'promote', 'createPool', 'deletePool', 'createToken', 'addFault']) {
      expect(what).toContain(name);
    }
    const promoted = rows.filter((row) => row.what === 'promote').at(0);
    expect(promoted).toMatchObject({ who: 'local', subject: 'image/node', status: 202 });
    expect(promoted?.before).toMatchObject({ channel: 'production' });
    expect(promoted?.after).toMatchObject({ kind: 'promote' });
    const aboutTokens = await client.call('listAudit', { query: { subject: 'token/ann' } });
    expect(aboutTokens.items.map((row) => row.what)).toEqual(['revokeToken', 'createToken']);
  });

  test('a backup carries everything to an empty database, and a dry run only reads it', async () => {
    const { client } = api;
    const pieces: Uint8Array[] = [];
    for await (const piece of await client.backup()) pieces.push(piece);
    async function* source() {
      yield* pieces;
    }
    const other = await openApi(bench);
    try {
      const refused = { code: 'backup-untrusted', hint: expect.stringContaining('--key old.pub') };
      await expect(other.client.restore(source())).rejects.toMatchObject(refused);
      const [key] = (await client.call('listKeys')).items.filter(({ signs }) => signs);
      await other.client.call('trustKey', { body: { publicKey: key?.publicKey ?? '', owner: 'old' } });
      await expect(other.client.restore(source())).rejects.toMatchObject(refused);
      const named = { key: key?.publicKey };
      const plan = await other.client.restore(source(), { ...named, dryRun: true });
      const lines = 'plan' in plan ? plan.plan : [];
      expect(lines[0]).toMatch(new RegExp(`^Load a backup of .* signed by key ${key?.id}`));
      expect(lines).toContainEqual(expect.stringMatching(/does not hold the signing keys: copy .*keys/));
      expect((await other.client.call('listImages')).items).toEqual([]);
      const audited = await other.client.call('listAudit', { query: { subject: 'database' } });
      expect(audited.items[0]).toMatchObject({ what: 'restore', after: { dryRun: true }, status: 200 });
      const report = await other.client.restore(source(), named);
      expect(report).toMatchObject({ rows: expect.any(Number), keysRestored: false, holds: ['records'] });
      expect((await other.client.call('listImages')).items).toHaveLength(1);
    } finally {
      await other.close();
    }
    called.add('backup').add('restore');
    await expect(client.restore(source())).rejects.toMatchObject({ code: 'restore-not-empty' });
  });

  test('a problem is listed, shown and resolved, and the status counts it', async () => {
    const { client } = api;
    const found = { kind: 'pool-behind', subject: 'pool/x', message: 'Pool x could not follow.' };
    await api.store.problems.report('reconcile', found);
    const [listed] = (await client.call('listProblems', { query: { subject: 'pool/x' } })).items;
    const path = { problem: listed?.id ?? 0 };
    expect(await client.call('showProblem', { path })).toMatchObject({ ...found, count: 1 });
    const body = { reason: 'moved by hand' };
    expect((await client.plan('resolveProblem', { path, body })).plan).toEqual([
      `Resolve problem ${path.problem}: Pool x could not follow.`,
    ]);
    const resolved = await client.call('resolveProblem', { path, body });
    expect(resolved).toMatchObject({ resolvedBy: 'local', reason: 'moved by hand' });
    expect((await client.call('listProblems')).items).toEqual([]);
    expect((await client.call('listProblems', { query: { all: 'true' } })).items).toEqual([resolved]);
    await expect(client.call('showProblem', { path: { problem: 999 } })).rejects.toMatchObject({
      code: 'problem-not-found',
    });
  });

  test('a backup with keys is always encrypted, and restores them on a new host with the passphrase', async () => {
    const { client } = api;
    const passphrase = 'correct horse battery';
    const read = async (options: Parameters<typeof client.backup>[0]) => {
      const pieces: Uint8Array[] = [];
      for await (const piece of await client.backup(options)) pieces.push(piece);
      return Buffer.concat(pieces);
    };
    for (const given of [undefined, 'short']) {
      const refused = { code: 'backup-passphrase' };
      await expect(read({ withKeys: true, passphrase: given })).rejects.toMatchObject(refused);
    }
    const file = await read({ withKeys: true, passphrase });
    expect(file.includes('PRIVATE KEY')).toBe(false);
    async function* source() {
      yield file;
    }
    const other = await openApi(bench);
    try {
      await expect(other.client.restore(source())).rejects.toMatchObject({ code: 'backup-passphrase' });
      const options = { withKeys: true, passphrase };
      await other.client.restore(source(), { ...options, dryRun: true });
      expect((await other.client.call('listKeys')).items).toEqual([]);
      expect(await other.client.restore(source(), options)).toMatchObject({ keysRestored: true });
      const keys = await client.call('listKeys');
      expect(await other.client.call('listKeys')).toEqual(keys);
    } finally {
      await other.close();
    }
  });

  test('a host with its own signing key does not take over the keys of a backup', async () => {
    const passphrase = 'correct horse battery';
    const pieces: Uint8Array[] = [];
    for await (const piece of await api.client.backup({ withKeys: true, passphrase })) pieces.push(piece);
    const other = await openApi(bench);
    try {
      const own = await other.client.call('createKey');
      for (const dryRun of [true, false]) {
        const restored = other.client.restore(Readable.from(pieces), { withKeys: true, passphrase, dryRun });
        await expect(restored).rejects.toMatchObject({ code: 'restore-not-empty' });
      }
      expect((await other.client.call('listKeys')).items).toEqual([own]);
      expect((await other.client.call('listImages')).items).toEqual([]);
    } finally {
      await other.close();
    }
  });

  test('a recipe is shown whole; what needs a real builder says so', async () => {
    const { client } = api;
    const body = { recipe, fileName: 'imago.yaml' };
    expect(await client.call('showRecipe', { body })).toMatchObject({
      name: 'node',
      versions: [{ kubernetes: '1.34.2' }],
      text: expect.stringMatching(/^name: node # imago\.yaml:1$/m),
    });
    for (const name of ['lockRecipe', 'findOutdated', 'explainRebuild'] as const)
      await expect(client.call(name, { body })).rejects.toMatchObject({ code: 'provider-lacks' });
    const from = `node:${(await client.call('resolve', { query: { reference: 'node' } })).version}`;
    await expect(client.call('absorbVersion', { body: { ...body, reference: from } })).rejects.toMatchObject({
      code: 'provider-lacks',
    });
    await expect(client.call('createHotfix', { body: { from, set: ['runc=1.1.17'] } })).rejects.toMatchObject(
      { code: 'provider-lacks' },
    );
  });

  test('files of a recipe are requested until they are there', async () => {
    const { client } = api;
    const list = JSON.stringify({ folder: '', entries: [] });
    const sha256 = createHash('sha256').update(list).digest('hex');
    const place = () => client.call('placeRecipeFiles', { body: { list: sha256 } });
    expect(await place()).toEqual({ missing: [{ sha256 }] });
    const content = Buffer.from(`${sha256} ${list.length}\n${list}`);
    expect(await client.upload('sendRecipeFiles', inPieces(content))).toEqual({ files: 1 });
    called.add('sendRecipeFiles');
    expect(await place()).toEqual({ missing: [] });
  });

  test('the agent is downloaded, and its script names what was downloaded', async () => {
    const { content, sizeBytes } = await api.client.download('readAgent', {});
    const archive = await buffer(content);
    expect(archive.length).toBe(sizeBytes);
    expect(gunzipSync(archive).toString()).toBe('an agent');
    const query = { url: 'https://downloads.example.com/agent.tar.gz' };
    const { script, sha256 } = await api.client.call('showAgentScript', { query });
    expect(sha256).toBe(createHash('sha256').update(archive).digest('hex'));
    expect(script).toContain(`sha256='${sha256}'`);
    expect(script).toContain(query.url);
    const quoted = { url: "https://example.com/'$(reboot)" };
    await expect(api.client.call('showAgentScript', { query: quoted })).rejects.toMatchObject({
      code: 'input-invalid',
    });
    called.add('readAgent').add('showAgentScript');
  });

  test('a disk goes in and out, is signed, compared and read again', async () => {
    const { client } = api;
    const disk = tinyDisk();
    const { id, format } = await client.upload('uploadDisk', inPieces(disk));
    expect(format).toBe('raw');
    const body = { upload: id, image: 'disk', file: 'disk.raw' };
    const { upload: _, ...unsent } = body;
    const bad = { body: { ...unsent, lock: 'digest: none' } };
    await expect(client.plan('importImage', bad)).rejects.toMatchObject({ code: 'lock-invalid' });
    expect((await client.plan('importImage', { body: unsent })).plan).toHaveLength(1);
    await expect(client.call('importImage', { body: unsent })).rejects.toMatchObject({
      code: 'input-invalid',
    });
    const imported = await finish(await client.call('importImage', { body }));
    expect(imported.result).toMatchObject({ image: 'disk', version: '1.0.0', unread: expect.any(String) });
    const path = { image: 'disk', version: '1.0.0' };
    const { content, sizeBytes } = await client.download('exportVersion', { path, query: { format: 'raw' } });
    expect(sizeBytes).toBe(disk.length);
    expect((await buffer(content)).equals(disk)).toBe(true);
    const lost = client.download('readRecord', { path: { ...path, record: 'notes' } });
    await expect(lost).rejects.toMatchObject({ code: 'record-not-found' });
    const compared = client.call('diffVersions', { path, query: { to: 'disk' } });
    await expect(compared).rejects.toMatchObject({ code: 'inventory-invalid' });
    await expect(
      client.call('findOutdatedPackages', { body: { reference: 'disk:1.0.0' } }),
    ).rejects.toMatchObject({ code: 'provider-lacks' });
    const keyIds = async () => (await client.call('listKeys')).items.map(({ id: one }) => one);
    const earlier = await keyIds();
    const key = await client.call('createKey');
    expect(await client.call('signVersion', { path })).toMatchObject({ key: key.id });
    const { items: signatures } = await client.call('listSignatures', { path });
    expect(signatures).toContainEqual(expect.objectContaining({ key: key.id, counts: true }));
    const verified = await finish(
      await client.call('verifyImage', { body: { reference: 'disk', requireSignature: true } }),
    );
    expect(verified.result).toMatchObject({
      found: [],
      signatures: expect.arrayContaining([expect.objectContaining({ key: key.id })]),
    });
    expect(
      await client.call('revokeKey', { path: { key: key.id }, body: { reason: 'it leaked' } }),
    ).toMatchObject({ id: key.id, revoked: 'it leaked', signs: false });
    expect(await keyIds()).toEqual([...earlier, key.id]);
    expect((await client.call('listSignatures', { path })).items).toContainEqual(
      expect.objectContaining({ key: key.id, counts: false, problem: 'its key was revoked: it leaked' }),
    );
    const theirs = await client.call('trustKey', { body: { owner: 'farm', publicKey: newPublicKey() } });
    expect(theirs).toMatchObject({ owner: 'farm', signs: false });
    expect(await client.call('untrustKey', { path: { key: theirs.id } })).toEqual(theirs);
    expect(await keyIds()).toEqual([...earlier, key.id]);
    called.add('uploadDisk').add('exportVersion').add('readRecord');
  });

  test('copies: a gallery takes what its provider has, a registry must be named rightly', async () => {
    const { client } = api;
    const { version } = await client.call('resolve', { query: { reference: 'node' } });
    const reference = `node:${version}`;
    const published = await finish(await client.call('publishImage', { body: { reference } }));
    expect(published.result).toMatchObject({ image: 'node', version });
    const push = client.call('pushImage', { body: { reference: 'disk:1.0.0', to: 'nowhere' } });
    await expect(push).rejects.toMatchObject({ code: 'reference-malformed' });
    const pull = client.call('pullImage', { body: { from: 'nowhere' } });
    await expect(pull).rejects.toMatchObject({ code: 'reference-malformed' });
  });

  test('gates stand before channels: a policy, a scan, an approval, an override, a release', async () => {
    const { client } = api;
    const text = 'version: 1\nchannels:\n  canary:\n    approvals: {count: 1}\n';
    expect(await client.call('setPolicy', { body: { text, why: 'first' } })).toMatchObject({ id: 1, text });
    expect(await client.call('showPolicy', {})).toMatchObject({ why: 'first' });
    expect((await client.call('listPolicies', {})).items).toHaveLength(1);
    const path = { image: 'node' };
    const body = { name: 'canary', after: 'staging' };
    expect(await client.call('createChannel', { path, body })).toMatchObject({ position: 2, public: false });
    const { version } = await client.call('resolve', { query: { reference: 'node:latest' } });
    const versionPath = { image: 'node', version };
    expect((await client.call('listComposed', { path: versionPath })).items).toMatchObject([
      { imago: '0.0.0-test', version },
    ]);
    const scan = {
      ...{ format: 'trivy' as const, tool: 'trivy', dismissed: 0, findings: [], subjects: [] },
      counts: { critical: 0, high: 0, medium: 0, low: 1, unknown: 0 },
      reportDigest: `sha256:${'a'.repeat(64)}`,
    };
    const scanned = await client.call('attachScan', { path: versionPath, body: scan });
    expect(scanned).toMatchObject({ kind: 'scan', summary: 'trivy: 1 low' });
    const again = await client.call('attachScan', { path: versionPath, body: scan });
    expect(again.id).toBeGreaterThan(scanned.id);
    const approval = { path: versionPath, body: { channel: 'canary' } };
    await expect(client.call('approveVersion', approval)).rejects.toMatchObject({ code: 'approval-refused' });
    const query = { reference: `node:${version}`, channel: 'canary' };
    expect(await client.call('showGates', { query })).toMatchObject({ passed: false });
    const override = { gates: ['approvals'], reason: 'alone at night' } as const;
    const moved = await finish(
      await client.call('overridePromote', {
        body: { ...query, why: 'night', override: { ...override, gates: [...override.gates] } },
      }),
    );
    const { move } = moved.result as { move: number };
    await expect(client.call('showMoveAttestation', { path: { move: String(move) } })).rejects.toMatchObject({
      code: 'attestation-missing',
    });
    await client.call('createKey');
    expect(await client.call('signMove', { path: { move: String(move) } })).toMatchObject({ move });
    const gone = { path: { image: 'node', channel: 'canary' }, query: { why: 'unused' } };
    await client.call('deleteChannel', gone);
    const history = await client.call('listMoves', { path, query: { channel: 'canary' } });
    expect(history.items.map(({ to }) => to)).toEqual([undefined, version]);
    const released = await finish(
      await client.call('createRelease', {
        body: { recipe: recipe.replace('name: node', 'name: other'), why: 'x' },
      }),
    );
    expect(released.result).toMatchObject({ image: 'other', channels: ['staging', 'production'] });
    const weekly = { recipe, why: 'weekly', name: 'weekly', cron: '0 3 * * 1', timeZone: 'Europe/Paris' };
    expect(await client.call('scheduleRelease', { body: weekly })).toMatchObject({ kind: 'release' });
    await client.call('deleteSchedule', { path: { schedule: 'weekly' } });
  });

  test('lineage, withdrawal, retention, limits and support', async () => {
    const { client } = api;
    const image = { name: 'leaving', os: 'linux', architecture: 'x64', numbering: 'semver' } as const;
    await api.store.catalogue.ensureImage(image);
    const digest = `sha256:${'e'.repeat(64)}`;
    await api.store.catalogue.addVersion({
      ...{ image: 'leaving', version: '1.0.0', digest, diskDigest: digest, sizeBytes: 5, operation: 'seed' },
      origin: { kind: 'captured', node: 'web-1', parent: 'node:1.0.0' },
    });
    const path = { image: 'leaving', version: '1.0.0' };
    expect((await client.call('listAncestors', { path })).items[0]).toMatchObject(path);
    const graph = await client.call('listDescendants', { path, query: { graph: 'true' } });
    expect(graph.graph?.nodes.length).toBeGreaterThan(0);
    expect((await client.call('listVersionNodes', { path })).items).toEqual([]);
    const held = await client.call('holdVersion', { path, body: { reason: 'audit' } });
    expect(held).toMatchObject({ ...path, reason: 'audit' });
    const keepers = (await client.call('planPrune', { query: { image: 'leaving' } })).items[0]?.keepers;
    expect(keepers?.map(({ kind }) => kind)).toEqual(expect.arrayContaining(['hold', 'newest']));
    await client.call('releaseVersion', { path });
    const out = await finish(await client.call('withdrawVersion', { path, body: { reason: 'broken' } }));
    expect(out.result).toMatchObject({ versions: ['leaving:1.0.0'], nodes: 0 });
    expect((await client.call('listWithdrawals', { query: { image: 'leaving' } })).items).toHaveLength(1);
    expect((await client.call('showVersion', { path })).withdrawnFrom).toBe('candidate');
    await finish(await client.call('restoreVersion', { path, body: { why: 'fine' } }));
    await finish(await client.call('prune', { body: { image: 'leaving' } }));
    expect((await client.call('showLimits')).items.map(({ place }) => place)).toContain('sim');
    const body = { product: 'image', line: 'leaving', endsOn: '2099-01-01' };
    expect(await client.call('setSupport', { body })).toMatchObject({ ...body, source: 'set' });
    expect((await client.call('listSupport')).items).toContainEqual(expect.objectContaining(body));
    const { support } = await client.call('showVersion', { path });
    expect(support).toMatchObject({
      phase: 'supported',
      endsOn: '2099-01-01',
      by: 'image leaving',
      source: 'set',
    });
    expect(support?.daysLeft).toBeGreaterThan(20_000);
    await client.call('unsetSupport', { path: { product: 'image', line: 'leaving' } });
  });

  test('galleries, webhooks, and the catalogue for people', async () => {
    const { client } = api;
    const body = { name: 'public', provider: 'sim', place: 'public', channels: ['production'], public: true };
    expect(await client.call('addGallery', { body })).toMatchObject(body);
    expect((await client.call('listGalleries')).items).toMatchObject([{ name: 'public' }]);
    const { items: copies } = await client.call('listCopies', { query: {} });
    for (const copy of copies) expect(copy.regions.length).toBeGreaterThan(0);
    const shown = await client.call('showCatalogImage', { path: { image: 'node' } });
    expect(shown).toMatchObject({ name: 'node', os: 'linux' });
    await client.call('removeGallery', { path: { gallery: 'public' } });
    const hook = { name: 'ci', url: 'http://127.0.0.1:9/', allowPrivate: true };
    expect((await client.call('createWebhook', { body: hook })).secret).toMatch(/^whsec_/);
    expect((await client.call('listWebhooks')).items).toMatchObject([{ name: 'ci', state: 'active' }]);
    expect((await client.call('listDeliveries', { path: { webhook: 'ci' } })).items).toEqual([]);
    expect(await client.call('resendDeliveries', { path: { webhook: 'ci' }, body: {} })).toEqual({
      ...{ webhook: 'ci', deliveries: 0 },
    });
    await client.call('testWebhook', { path: { webhook: 'ci' } });
    const query = { since: '2020-01-01T00:00:00Z' };
    expect((await client.call('listChanges', { query })).items).toContainEqual(
      expect.objectContaining({ kind: 'setting', subject: 'webhook/ci', what: 'test webhook' }),
    );
    await client.call('deleteWebhook', { path: { webhook: 'ci' } });
  });

  test('clusters', async () => {
    const { client } = api;
    const kube = await startKubeServer();
    const body = { name: 'prod', kubeconfig: kube.kubeconfig };
    expect(await client.call('addCluster', { body })).toMatchObject(body);
    expect((await client.call('listClusters')).items).toHaveLength(2);
    expect(await client.call('showCluster', { path: { cluster: 'prod' } })).toMatchObject({ state: 'ready' });
    await client.call('removeCluster', { path: { cluster: 'prod' } });
    expect(await client.call('showControlPlane')).toEqual({ state: 'absent', nodes: [] });
    await finish(await client.call('startCluster'));
    expect((await client.call('listClusters')).items.map(({ name }) => name)).toEqual(['local', 'sim']);
    expect(await client.call('showControlPlane')).toMatchObject({ state: 'degraded', version: '1.36.3' });
    await finish(await client.call('stopCluster', { body: {} }));
    expect(await client.call('showControlPlane')).toMatchObject({ state: 'stopped' });
    await finish(await client.call('stopCluster', { body: { erase: true } }));
    expect((await client.call('listClusters')).items).toHaveLength(1);
    await kube.close();
  });

  test('settings are kept and wait for the next start', async () => {
    const { client } = api;
    const path = { setting: 'keep-logs' };
    expect((await client.plan('setSetting', { path, body: { value: 30 } })).plan).toEqual([
      'Set keep-logs to 30.',
    ]);
    const set = await client.call('setSetting', { path, body: { value: '30' } });
    expect(set).toMatchObject({ name: 'keep-logs', value: 30, pending: true });
    expect((await client.call('listSettings')).items).toContainEqual(set);
    expect(await client.call('unsetSetting', { path })).not.toHaveProperty('value');
    const wrong = client.call('setSetting', { path: { setting: 'listen' }, body: { value: 'nowhere' } });
    await expect(wrong).rejects.toMatchObject({ code: 'setting-invalid', httpStatus: 400 });
  });

  test('shutdown is answered, audited, and then begun', async () => {
    const { client } = api;
    expect((await client.plan('shutdown')).plan[0]).toMatch(/^Stop the daemon/);
    expect(api.stops).toEqual([]);
    expect(await client.call('shutdown', { body: { database: false } })).toEqual({ pid: process.pid });
    expect(api.stops).toEqual([{ database: false }]);
    const [row] = (await client.call('listAudit', { query: { limit: 1 } })).items;
    expect(row).toMatchObject({ what: 'shutdown', status: 202 });
  });

  test('no endpoint was left out', () => {
    called.add('watchEvents');
    expect(endpointNames.filter((name) => !called.has(name))).toEqual([]);
  });
});
