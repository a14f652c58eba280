// What Imago could not repair is a record that people see, until it is repaired or a person resolves it.
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { missingDisks } from '../../src/daemon/backup/missing-disks.ts';
import { failingWebhooks } from '../../src/daemon/webhook/deliver.ts';
import type { Store } from '../../src/database/open-database.ts';
import { reconcile } from '../../src/operations/reconcile/reconcile.ts';
import { createProduct } from '../support/product.ts';
import { simulateVersions, succeed } from '../support/simulated-versions.ts';
import { patience } from '../support/speed.ts';
import { digestOf, type StoreBench, seedImage, startStoreBench } from '../support/store.ts';

let bench: StoreBench;
let store: Store;
let now: number;

beforeAll(async () => {
  bench = await startStoreBench();
});
afterAll(() => bench.stop());
beforeEach(async () => {
  now = Date.parse('2026-01-01T00:00:00.000Z');
  store = await bench.freshStore({ now: () => now });
});

const behind = {
  kind: 'pool-behind',
  subject: 'pool/web',
  message: 'Pool web could not follow.',
  hint: 'Look.',
};
const other = {
  kind: 'provider-missing',
  subject: 'provider/azure',
  message: 'There is no provider azure here.',
};
const open = async () => (await store.problems.list({ limit: 10 })).items;
const events = async () =>
  (await store.events.list({ after: 0, limit: 100 }))
    .filter(({ type }) => type.startsWith('problem.'))
    .map(({ type, subject }) => `${type} ${subject}`);

test('a problem that is seen again is counted, not repeated', async () => {
  await store.problems.report('reconcile', behind);
  now += 60_000;
  await store.problems.report('reconcile', { ...behind, message: 'It still could not follow.' });
  expect(await open()).toEqual([
    {
      ...{
        id: 1,
        kind: 'pool-behind',
        subject: 'pool/web',
        message: 'It still could not follow.',
        hint: 'Look.',
      },
      ...{ count: 2, firstAt: '2026-01-01T00:00:00.000Z', lastAt: '2026-01-01T00:01:00.000Z' },
    },
  ]);
  expect(await events()).toEqual(['problem.opened pool/web']);
});

test('a problem that its source no longer finds is resolved; those of other sources stay', async () => {
  await store.problems.sync('reconcile', [behind, other, other]);
  await store.problems.report('local', other);
  await store.problems.sync('reconcile', [behind]);
  expect((await open()).map(({ id }) => id).toSorted()).toEqual([1, 3]);
  expect(await store.problems.get(2)).toMatchObject({ resolvedBy: 'imago', reason: expect.any(String) });
  await store.problems.repaired('local', 'provider/azure');
  await store.problems.sync('reconcile', []);
  expect(await open()).toEqual([]);
  expect((await store.problems.list({ limit: 10, all: true })).items).toHaveLength(3);
  expect((await events()).slice(-2)).toEqual([
    'problem.resolved provider/azure',
    'problem.resolved pool/web',
  ]);
});

test('a problem that a person resolved keeps the first reason, and opens again if it is found again', async () => {
  await store.problems.report('reconcile', behind);
  expect(await store.problems.resolve(1, 'ann', 'moved by hand')).toMatchObject({ resolvedBy: 'ann' });
  expect(await store.problems.resolve(1, 'bob', 'me too')).toMatchObject({ reason: 'moved by hand' });
  expect(await store.problems.resolve(9, 'ann', 'x')).toBeUndefined();
  await store.problems.report('reconcile', behind);
  expect(await open()).toMatchObject([{ id: 2, count: 1 }]);
});

test('an operation that could not be undone is a problem, until its retry succeeds or a person resolves it', async () => {
  const request = { kind: 'capture', subject: 'pool/web', by: 'ann', input: null, steps: ['one'] };
  for (const id of ['bad', 'worse', 'fine']) await store.journal.create({ ...request, id }, 0);
  const ended = { state: 'failed', endedAt: '2026-01-01T00:00:00.000Z' } as const;
  await store.journal.update('bad', { ...ended, exceptions: ['Step one could not be undone: no answer.'] });
  await store.journal.update('worse', { ...ended, exceptions: ['Step two could not be undone.'] });
  await store.journal.update('fine', ended);
  for (let round = 0; round < 2; round += 1) await store.problems.syncOperations();
  expect((await open()).toReversed()).toMatchObject([
    { subject: 'operation/bad', count: 1, message: expect.stringContaining('no answer') },
    { subject: 'operation/worse', hint: expect.stringContaining('imago op show worse') },
  ]);
  await store.journal.create({ ...request, id: 'again', retryOf: 'bad' }, 0);
  await store.journal.update('again', { state: 'succeeded', endedAt: ended.endedAt });
  await store.problems.syncOperations();
  expect(await open()).toMatchObject([{ subject: 'operation/worse' }]);
  await store.problems.resolve(2, 'ann', 'repaired');
  now += 365 * 24 * 3_600_000;
  await store.problems.trim(new Date(now).toISOString());
  await store.problems.syncOperations();
  expect(await open()).toEqual([]);
});

test('a webhook whose deliveries fail is a problem', async () => {
  await store.webhooks.create({
    ...{ name: 'ci', url: 'https://ci.example.com', events: ['channel.moved'], allowPrivate: false },
    ...{ salt: 's', keyId: 'k', by: 'ann' },
  });
  await store.events.add({ type: 'channel.moved', subject: 'image/node', data: null });
  await store.outbox.collect(() => '{}');
  const [due] = await store.outbox.due(10);
  expect(await failingWebhooks(store.outbox)).toEqual([]);
  await store.outbox.record(due?.id ?? 0, { kind: 'failed', error: 'It answered 500.' });
  expect(await failingWebhooks(store.outbox)).toMatchObject([
    { subject: 'webhook/ci', message: '1 deliveries to webhook ci failed: It answered 500.' },
  ]);
  await store.webhooks.resend('ci', due?.event, 'ann');
  expect(await failingWebhooks(store.outbox)).toEqual([]);
});

test('a pool whose operation failed to follow its channel is a problem, and is tried again', async () => {
  const product = await createProduct(store);
  const [first = '', second = ''] = await simulateVersions(product, 2);
  const move = (to: string) =>
    store.catalogue.moveChannel({ ...{ image: 'node', channel: 'production', to, by: 'test', why: 'test' } });
  await move(first);
  await succeed(product, {
    ...{ kind: 'pool-create', subject: 'pool/web' },
    input: { name: 'web', reference: 'node:production', capacity: 1 },
  });
  await move(second);
  const at = Date.now();
  const [slot, channel] = [Math.floor(at / 600_000), await store.catalogue.getChannel('node', 'production')];
  const id = `follow-web-${channel?.move}-${slot}`;
  await store.journal.create(
    { id, kind: 'pool-set-image', subject: 'pool/web', by: 'imago', input: null, steps: ['x'] },
    0,
  );
  const error = { code: 'quota', message: 'The quota is used up.', retryable: false } as never;
  await store.journal.update(id, { state: 'failed', endedAt: new Date(at).toISOString(), error });
  const journal = {
    ...product.deps.journal,
    get: async (name: string) => (await product.deps.journal.get(name)) ?? store.journal.get(name),
  };
  const run = (later: number) =>
    reconcile({ ...product.deps, journal, now: () => at + later }, AbortSignal.timeout(patience(20_000)));
  const problem = {
    ...{
      kind: 'pool-behind',
      subject: 'pool/web',
      message: expect.stringContaining('The quota is used up.'),
    },
  };
  expect(await run(0)).toMatchObject({ followed: [], problems: [problem] });
  const again = await run(600_000);
  expect(again).toMatchObject({ followed: [`follow-web-${channel?.move}-${slot + 1}`], problems: [problem] });
  await product.deps.desk().ended(again.followed[0] ?? '', AbortSignal.timeout(patience(60_000)));
  expect(await run(600_000)).toMatchObject({ followed: [], problems: [] });
  await product.close();
});

test('a disk that restore did not find is a problem until the disk is there or the version is deleted', async () => {
  const [first = '', second = ''] = await seedImage(store, 'node', 2);
  for (const version of [first, second]) {
    const subject = `version/node:${version}`;
    await store.problems.report('disks', { kind: 'disk-missing', subject, message: 'missing' });
  }
  const digest = (await store.catalogue.getVersion('node', first))?.digest ?? '';
  const found = await missingDisks(store, { digests: async () => new Set([digest, digestOf('x')]) });
  expect(found.map(({ subject }) => subject)).toEqual([`version/node:${second}`]);
});
