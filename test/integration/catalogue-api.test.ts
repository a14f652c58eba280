// Promotion over the API by people with tokens: who may approve, who may override, and that no roundabout way
// gets past a gate.
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { ResponseOf } from '../../src/api/contract/types.ts';
import { type ApiBench, openApi } from '../support/api-bench.ts';
import { type StoreBench, seedImage, startStoreBench } from '../support/store.ts';

let bench: StoreBench;
let api: ApiBench;

beforeAll(async () => {
  bench = await startStoreBench();
  api = await openApi(bench);
  await seedImage(api.store, 'node', 3);
});
afterAll(async () => {
  await api.close();
  await bench.stop();
});

type Operation = ResponseOf<'showOperation'>;

async function ended({ id }: Operation): Promise<Operation> {
  return api.client.call('waitOperation', { path: { operation: id }, query: { seconds: 20 } });
}

const policy = 'version: 1\nchannels:\n  production:\n    approvals: {count: 2, role: publisher}\n';
const path = { image: 'node', version: '1.0.1' };
const request = { reference: 'node:1.0.1', channel: 'production', why: 'good' };

test('two publishers other than the requester open the gate; a viewer may not speak at all', async () => {
  await api.client.call('setPolicy', { body: { text: policy, why: 'two approvals' } });
  const [ann, bob, cid, vic] = await Promise.all([
    api.clientOf('publisher', 'ann'),
    api.clientOf('publisher', 'bob'),
    api.clientOf('publisher', 'cid'),
    api.clientOf('viewer', 'vic'),
  ]);
  const approval = { path, body: { channel: 'production' } };
  await expect(vic.call('approveVersion', approval)).rejects.toMatchObject({ code: 'api-role-too-small' });
  for (const client of [ann, bob]) {
    expect(await client.call('approveVersion', approval)).toMatchObject({ kind: 'approval', passed: true });
  }
  const refused = await ended(await ann.call('promote', { body: request }));
  expect(refused).toMatchObject({ state: 'failed', error: { code: 'gate-closed' } });
  const plan = await ann.plan('promote', { body: request });
  expect(plan.plan).toContain('✗ approvals: needs 2 of role publisher, not ann; 1 (bob)');
  await cid.call('approveVersion', approval);
  expect(await ended(await ann.call('promote', { body: request }))).toMatchObject({ state: 'succeeded' });
});

test('only admins override, also by a schedule or by trying again', async () => {
  const ann = await api.clientOf('publisher', 'ann2');
  const root = await api.clientOf('admin', 'root');
  const body = {
    ...{ reference: 'node:1.0.2', channel: 'production', why: 'night' },
    override: { gates: ['approvals' as const], reason: 'alone' },
  };
  const small = { code: 'api-role-too-small' };
  await expect(ann.call('overridePromote', { body })).rejects.toMatchObject(small);
  const schedule = {
    name: 'sly',
    cron: '0 3 * * *',
    kind: 'promote-override',
    subject: 'image/node',
    input: body,
  };
  await expect(ann.call('createSchedule', { body: schedule })).rejects.toMatchObject(small);
  const done = await ended(await root.call('overridePromote', { body }));
  expect(done).toMatchObject({ state: 'succeeded' });
  await expect(ann.call('retryOperation', { path: { operation: done.id } })).rejects.toMatchObject(small);
  const tested = { ...body, override: { gates: ['tested' as const], reason: 'alone' } };
  await expect(root.call('overridePromote', { body: tested })).rejects.toMatchObject({
    code: 'override-refused',
  });
  await expect(ann.call('setPolicy', { body: { text: 'version: 1', why: 'x' } })).rejects.toMatchObject(
    small,
  );
});

test('a policy with an unknown gate is refused with its line and the nearest gate, and nothing changes', async () => {
  const text = 'version: 1\nchannels:\n  production:\n    aprovals: {count: 2}\n';
  const set = api.client.call('setPolicy', { body: { text, fileName: 'policy.yaml', why: 'x' } });
  await expect(set).rejects.toMatchObject({
    code: 'policy-invalid',
    message: expect.stringContaining('policy.yaml:4:5'),
    hint: 'Did you mean `approvals`?',
  });
  expect(await api.client.call('showPolicy', {})).toMatchObject({ why: 'two approvals' });
});

test('of two that saw the same channel and ask at once, the second is told', async () => {
  await seedImage(api.store, 'other', 2);
  const clients = await Promise.all([api.clientOf('publisher', 'eve'), api.clientOf('publisher', 'fay')]);
  const results = await Promise.allSettled(
    clients.map(async (client, index) => {
      const body = { reference: `other:1.0.${index}`, channel: 'staging', why: 'race', expect: null };
      const { state, error } = await ended(await client.call('promote', { body }));
      if (state === 'failed') throw error;
    }),
  );
  expect(results.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
  const told = results.find(({ status }) => status === 'rejected');
  expect(told).toMatchObject({ reason: { code: 'channel-moved' } });
});

test('a scan report of something else is refused', async () => {
  const body = {
    ...{
      format: 'cyclonedx' as const,
      tool: 'grype',
      dismissed: 0,
      findings: [],
      subjects: ['f'.repeat(64)],
    },
    counts: { critical: 0, high: 0, medium: 0, low: 0, unknown: 0 },
    reportDigest: `sha256:${'b'.repeat(64)}`,
  };
  await expect(api.client.call('attachScan', { path, body })).rejects.toMatchObject({
    code: 'scan-elsewhere',
  });
});

test('resolve: by time, by Kubernetes version and by region, and what is near when there is none', async () => {
  const { catalogue } = api.store;
  await catalogue.ensureImage({ name: 'kube', os: 'linux', architecture: 'x64', numbering: 'semver' });
  const versions = { '1.0.0': '1.33.4', '1.0.1': '1.34.1', '1.0.2': '1.34.2', '1.0.3': '1.36.0' };
  for (const [version, kubernetes] of Object.entries(versions)) {
    const digest = `sha256:${version.replaceAll('.', '').padStart(64, 'c')}`;
    await catalogue.addVersion({
      ...{ image: 'kube', version, digest, diskDigest: digest, sizeBytes: 1, kubernetes },
      ...{ origin: { kind: 'imported', from: 'x' }, operation: version },
    });
    await catalogue.addEvidence({
      ...{ digest, kind: 'test', passed: true, summary: 'ok', details: {}, by: 'x' },
    });
    await catalogue.setVersionState('kube', version, 'available', { by: 'x' });
  }
  const ask = (query: Record<string, string>) =>
    api.client.call('resolve', { query: { reference: 'kube', ...query } });
  expect(await ask({ kubernetes: '1.34' })).toMatchObject({ version: '1.0.2', kubernetes: '1.34.2' });
  expect(await ask({ kubernetes: 'v1.34.1' })).toMatchObject({ version: '1.0.1' });
  await catalogue.setVersionState('kube', '1.0.2', 'withdrawn', { by: 'x', reason: 'broken kubelet' });
  await expect(ask({ kubernetes: '1.34.2' })).rejects.toMatchObject({
    code: 'kubernetes-not-found',
    message: expect.stringContaining('kube:1.0.2 is withdrawn: broken kubelet'),
    hint: expect.stringContaining('`kube:1.0.1`'),
  });
  const { digest: failing } = await ask({ kubernetes: '1.36' });
  await catalogue.addEvidence({
    ...{ digest: failing, kind: 'test', passed: false, summary: 'no boot', details: {}, by: 'x' },
  });
  await expect(ask({ kubernetes: '1.36' })).rejects.toMatchObject({
    code: 'kubernetes-not-found',
    message: expect.stringContaining('the newest test of kube:1.0.3 failed'),
  });
  await expect(ask({ kubernetes: '1.35' })).rejects.toMatchObject({
    message: expect.stringContaining('none was ever made'),
    hint: expect.stringMatching(/1\.34\.1.*1\.36\.0/),
  });
  await expect(ask({ kubernetes: 'new' })).rejects.toMatchObject({ code: 'input-invalid' });
  await expect(ask({ reference: 'kube:1.0.0', region: 'mars' })).rejects.toMatchObject({
    code: 'input-invalid',
  });
  await expect(ask({ reference: 'kube:1.0.0', region: 'westeurope' })).rejects.toMatchObject({
    code: 'region-missing',
  });
  const before = await catalogue.getChannel('kube', 'latest');
  expect(await ask({ reference: 'kube:latest', at: before?.movedAt ?? '' })).toMatchObject({
    version: '1.0.1',
    move: before?.move,
  });
  await expect(ask({ reference: 'kube:latest', at: '2001-01-01' })).rejects.toMatchObject({
    code: 'channel-empty',
  });
  await expect(ask({ at: '2026-01-01' })).rejects.toMatchObject({ code: 'input-invalid' });
  await expect(ask({ reference: 'kube:1.0.0', at: '2001-01-01' })).rejects.toMatchObject({
    code: 'version-not-found',
  });
});

test('a gallery that holds a version with private inputs cannot become public, not even in a plan; a new public channel is empty', async () => {
  const { client } = api;
  const recipe = (mark: string) =>
    `name: secretive\nnumbering: semver\ncomponents:\n  - {name: hush, version: 1.0.0${mark}}\n`;
  const numbers: string[] = [];
  for (const mark of [', private: true', '']) {
    const built = await ended(await client.call('createBuild', { body: { recipe: recipe(mark) } }));
    numbers.push((built.result as { version: string }).version);
  }
  const [hidden = '', open = ''] = numbers;
  const gallery = { name: 'inside', provider: 'sim', place: 'inside' };
  await client.call('addGallery', { body: gallery });
  const publish = async (version: string, to: string) =>
    ended(await client.call('publishImage', { body: { reference: `secretive:${version}`, gallery: to } }));
  expect(await publish(open, 'inside')).toMatchObject({ state: 'succeeded' });
  const shown = { body: { ...gallery, public: true } };
  expect((await client.plan('addGallery', shown)).plan).toContain(
    'Keep versions with private inputs out of it, and show it to all.',
  );
  expect(await publish(hidden, 'inside')).toMatchObject({ state: 'succeeded' });
  const refused = {
    code: 'channel-restricted',
    message: `Gallery inside cannot be public: it holds secretive:${hidden} with private inputs.`,
  };
  await expect(client.plan('addGallery', shown)).rejects.toMatchObject(refused);
  await expect(client.call('addGallery', shown)).rejects.toMatchObject(refused);
  const alias = { body: { ...shown.body, name: 'alias' } };
  await expect(client.call('addGallery', alias)).rejects.toMatchObject({ code: 'channel-restricted' });
  expect((await client.call('listGalleries')).items).toMatchObject([{ name: 'inside', public: false }]);
  const elsewhere = { body: { name: 'outside', provider: 'sim', place: 'outside', public: true } };
  expect(await client.call('addGallery', elsewhere)).toMatchObject({ public: true });
  await expect(publish(hidden, 'outside')).rejects.toMatchObject({ code: 'channel-restricted' });

  const path = { image: 'secretive' };
  const staged = { reference: `secretive:${hidden}`, channel: 'staging', why: 'a look' };
  expect(await ended(await client.call('promote', { body: staged }))).toMatchObject({ state: 'succeeded' });
  const again = { path, body: { name: 'staging', forTesting: true, public: true } };
  await expect(client.call('createChannel', again)).rejects.toMatchObject({ code: 'channel-exists' });
  const made = await client.call('createChannel', { path, body: { ...again.body, name: 'open' } });
  expect(made).toMatchObject({ public: true });
  expect(made.version).toBeUndefined();
});
