// Operations as they are recorded: what a second caller, a repeated call or a strange value does to them.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Store } from '../../src/database/open-database.ts';
import type { ImagoEvent } from '../../src/ports/database/events.ts';
import type { OperationRequest } from '../../src/ports/workflow/operation.ts';
import { type StoreBench, startStoreBench } from '../support/store.ts';

let bench: StoreBench;
let store: Store;

beforeAll(async () => {
  bench = await startStoreBench();
  store = await bench.freshStore();
});

afterAll(() => bench.stop());

const at = Date.parse('2026-03-03T10:00:00.000Z');
let made = 0;

async function create(request: Partial<OperationRequest> & { readonly steps?: readonly string[] } = {}) {
  made += 1;
  const id = request.id ?? `op-${made}`;
  const usual = { kind: 'build', subject: `image/${id}`, by: 'ann', input: {}, steps: ['one', 'two'] };
  return store.journal.create({ ...usual, ...request, id }, at);
}

describe('create', () => {
  test('records the request as queued, with its steps pending', async () => {
    const input = { z: 1, a: { deep: [null, 'ü\u0000', '\ud800'] } };
    const created = await create({ input, parent: 'p', retryOf: 'r' });
    expect(created).toEqual({
      id: created.id,
      kind: 'build',
      subject: `image/${created.id}`,
      by: 'ann',
      key: `image/${created.id}`,
      input,
      state: 'queued',
      steps: [
        { name: 'one', state: 'pending', attempts: 0 },
        { name: 'two', state: 'pending', attempts: 0 },
      ],
      exceptions: [],
      parent: 'p',
      retryOf: 'r',
      createdAt: '2026-03-03T10:00:00.000Z',
    });
    expect(Object.keys(created.input as object)).toEqual(['z', 'a']);
    expect(await store.journal.get(created.id)).toEqual(created);
  });

  test('with an id that exists returns that record unchanged, also when the key is busy', async () => {
    const first = await create({ key: 'same' });
    const again = await create({ id: first.id, key: 'same', by: 'bob', kind: 'other', whenBusy: 'refuse' });
    expect(again).toEqual(first);
  });

  test('many at once with one id make one record', async () => {
    const records = await Promise.all(
      Array.from({ length: 12 }, (_, index) =>
        create({ id: 'shared', by: `user-${index}`, key: `key-${index}` }),
      ),
    );
    expect(new Set(records.map(({ by }) => by)).size).toBe(1);
    expect(records[0]?.steps).toHaveLength(2);
  });

  test('many at once that refuse to wait: one gets the key, the others are told who has it', async () => {
    const results = await Promise.allSettled(
      Array.from({ length: 12 }, () => create({ key: 'pool/web', whenBusy: 'refuse' })),
    );
    const won = results.filter((result) => result.status === 'fulfilled');
    expect(won).toHaveLength(1);
    const winner = won[0]?.value.id;
    for (const result of results) {
      if (result.status === 'fulfilled') continue;
      expect(result.reason).toMatchObject({ code: 'operation-busy', details: { operation: winner } });
    }
    await store.journal.update(winner ?? '', { state: 'failed' });
    await expect(create({ key: 'pool/web', whenBusy: 'refuse' })).resolves.toMatchObject({ state: 'queued' });
  });

  test('those that wait are all recorded, oldest first', async () => {
    const ids = [];
    for (let index = 0; index < 3; index += 1) ids.push((await create({ key: 'pool/queue' })).id);
    const live = await store.journal.live();
    expect(live.filter(({ key }) => key === 'pool/queue').map(({ id }) => id)).toEqual(ids);
  });
});

describe('who waits for whom', () => {
  test('a parent for its child, and the queue of a key for each operation with it', async () => {
    const { journal } = store;
    const { id: parent } = await create({ key: 'parent' });
    const { id: child } = await create({ key: 'child', parent });
    const { id: other } = await create({ key: 'other' });
    for (const id of [parent, child, other]) await journal.update(id, { state: 'running' });
    expect(await journal.isAwaitedUnder('parent', child)).toBe(true);
    expect(await journal.isAwaitedUnder('child', child)).toBe(true);
    expect(await journal.isAwaitedUnder('other', child)).toBe(false);
    expect(await journal.isAwaitedUnder('child', parent)).toBe(false);

    const { id: inQueue } = await create({ key: 'child', parent: other });
    expect(await journal.isAwaitedUnder('other', child)).toBe(true);
    expect(await journal.isAwaitedUnder('other', 'nothing')).toBe(false);
    await journal.update(inQueue, { state: 'running' });
    expect(await journal.isAwaitedUnder('other', child)).toBe(false);
    await journal.update(parent, { state: 'failed' });
    expect(await journal.isAwaitedUnder('parent', child)).toBe(false);
  });
});

describe('update', () => {
  test('merges fields, and takes away those that are undefined', async () => {
    const { id } = await create();
    const error = { code: 'internal', kind: 'bug', message: 'x', retryable: false } as const;
    await store.journal.update(id, {
      state: 'running',
      currentStep: 'one',
      startedAt: '2026-03-03T10:00:01.000Z',
      progress: { done: 1, total: 2, sentence: 'half' },
    });
    await store.journal.update(id, { error, exceptions: ['look at node 1'] }, { durable: false });
    await store.journal.update(id, { currentStep: undefined, progress: undefined });
    await store.journal.update(id, {});
    const { currentStep, progress, ...record } = (await store.journal.get(id)) ?? {};
    expect([currentStep, progress]).toEqual([undefined, undefined]);
    expect(record).toMatchObject({
      state: 'running',
      startedAt: '2026-03-03T10:00:01.000Z',
      error,
      exceptions: ['look at node 1'],
    });
  });

  test('tells a result of null from no result', async () => {
    const { id } = await create();
    expect(await store.journal.get(id)).not.toHaveProperty('result');
    await store.journal.update(id, { result: null });
    await store.journal.update(id, { steps: { one: { result: null } } });
    expect(await store.journal.get(id)).toMatchObject({ result: null, steps: [{ result: null }, {}] });
    await store.journal.update(id, { steps: { one: { result: undefined } } });
    expect((await store.journal.get(id))?.steps[0]).toEqual({ name: 'one', state: 'pending', attempts: 0 });
  });

  test('of what is not there is refused', async () => {
    const { id } = await create();
    const { journal } = store;
    await expect(journal.update('nothing', { state: 'running' })).rejects.toMatchObject({
      code: 'operation-not-found',
    });
    await expect(journal.update('nothing', { steps: { one: { attempts: 1 } } })).rejects.toMatchObject({
      code: 'operation-not-found',
    });
    await expect(journal.update(id, { steps: { three: { attempts: 1 } } })).rejects.toMatchObject({
      code: 'operation-unknown-step',
    });
    await expect(journal.log('nothing', at, ['x'])).rejects.toMatchObject({ code: 'operation-not-found' });
    await expect(journal.requestCancel('nothing', 'ann')).rejects.toMatchObject({
      code: 'operation-not-found',
    });
    expect(await journal.get('nothing')).toBeUndefined();
  });

  test('a write that need not be flushed leaves no trace on its connection', async () => {
    const narrow = await bench.freshStore({ poolSize: 1 });
    await narrow.journal.create(
      { id: 'x', kind: 'k', subject: 's', by: 'b', input: null, steps: ['one'] },
      at,
    );
    await narrow.journal.update('x', { steps: { one: { state: 'running' } } }, { durable: false });
    await narrow.journal.log('x', at, ['line']);
    const setting = await narrow.database.read((tables) =>
      tables
        .selectNoFrom((row) => row.fn<string>('current_setting', [row.val('synchronous_commit')]).as('value'))
        .executeTakeFirst(),
    );
    expect(setting?.value).toBe('on');
  });
});

test('a failure whose message PostgreSQL cannot read is recorded, and is among the changes', async () => {
  const strange = 'tool said \0 and \ud800';
  const { id } = await create({ input: { why: strange } });
  const error = { code: 'internal', kind: 'bug', message: strange, hint: '', retryable: false } as const;
  await store.journal.update(id, { state: 'failed', error, endedAt: '2026-03-03T10:00:01.000Z' });
  const cancelled = await create({ input: { why: strange } });
  await store.journal.update(cancelled.id, { state: 'cancelled', endedAt: '2026-03-03T10:00:02.000Z' });
  const { items } = await store.changes.list({ since: '2026-03-03T10:00:00.500Z', audited: [], limit: 100 });
  const found = new Map(items.map((item) => [item.operation, item]));
  expect(found.get(id)).toMatchObject({ what: 'build failed', why: 'tool said \u{FFFD} and \u{FFFD}' });
  expect(found.get(cancelled.id)).toMatchObject({ what: 'build cancelled' });
});

test('progress that quotes a program with odd characters is recorded', async () => {
  const { id } = await create();
  await store.journal.update(id, { progress: { done: 0, total: 1, sentence: 'read \0 and \ud800' } });
  expect((await store.journal.get(id))?.progress?.sentence).toBe('read \u{FFFD} and \u{FFFD}');
});

test('cancel keeps the first name, and does not mark what has ended', async () => {
  const { id } = await create();
  await store.journal.requestCancel(id, 'ann');
  await store.journal.requestCancel(id, 'bob');
  expect((await store.journal.get(id))?.cancelRequestedBy).toBe('ann');
  const { id: ended } = await create();
  await store.journal.update(ended, { state: 'succeeded' });
  await store.journal.requestCancel(ended, 'ann');
  expect(await store.journal.get(ended)).not.toHaveProperty('cancelRequestedBy');
});

test('watchers see every change of an operation, in order', async () => {
  const { id } = await create();
  await store.journal.update(id, { state: 'running', currentStep: 'one' });
  await store.journal.update(id, { steps: { one: { state: 'running', attempts: 1 } } }, { durable: false });
  await store.journal.update(
    id,
    { progress: { done: 1, total: 3, sentence: 'a third' } },
    { durable: false },
  );
  await store.journal.log(id, at, ['first', 'second']);
  await store.journal.update(id, { steps: { one: { state: 'done' } } });
  await store.journal.requestCancel(id, 'ann');
  await store.journal.update(id, { state: 'cancelled', progress: undefined });
  const seen = await store.events.list({ subject: `operation/${id}`, after: 0, limit: 100 });
  expect(seen.map(({ type, data }: ImagoEvent) => [type, data])).toEqual([
    ['operation.state', { state: 'queued' }],
    ['operation.state', { state: 'running', currentStep: 'one' }],
    ['operation.step', { step: 'one', state: 'running', attempts: 1 }],
    [
      'operation.progress',
      { state: 'running', currentStep: 'one', progress: { done: 1, total: 3, sentence: 'a third' } },
    ],
    ['operation.log', { lines: ['first', 'second'] }],
    ['operation.step', { step: 'one', state: 'done', attempts: 1 }],
    ['operation.state', { state: 'running', cancelRequestedBy: 'ann' }],
    ['operation.state', { state: 'cancelled', currentStep: 'one' }],
  ]);
});

describe('lists', () => {
  test('newest first, narrowed, in pages that neither repeat nor skip while more are made', async () => {
    const other = await bench.freshStore();
    const { journal, operationLists } = other;
    const request = { subject: 'image/node', by: 'ann', input: null, steps: ['one'] };
    for (let index = 0; index < 7; index += 1) {
      await journal.create({ ...request, id: `build-${index}`, kind: 'build', parent: 'all' }, at);
      await journal.create({ ...request, id: `test-${index}`, kind: 'test' }, at - index);
    }
    await journal.update('build-3', { state: 'failed' });
    const seen: string[] = [];
    let cursor: string | undefined;
    do {
      const page = await operationLists.list(
        { kind: 'build' },
        { limit: 3, ...(cursor === undefined ? {} : { cursor }) },
      );
      seen.push(...page.items.map(({ id }) => id));
      cursor = page.next;
      await journal.create({ ...request, id: `late-${seen.length}`, kind: 'build' }, at);
    } while (cursor !== undefined);
    expect(seen).toEqual(['build-6', 'build-5', 'build-4', 'build-3', 'build-2', 'build-1', 'build-0']);
    const failed = await operationLists.list({ state: 'failed', subject: 'image/node' }, { limit: 10 });
    expect(failed.items.map(({ id, steps }) => [id, steps.length])).toEqual([['build-3', 1]]);
    expect((await operationLists.children('all')).map(({ id }) => id)).toEqual(seen.toReversed());
    await expect(operationLists.list({}, { limit: 3, cursor: 'bm9wZQ' })).rejects.toMatchObject({
      code: 'api-cursor-invalid',
    });
  });

  test('a log holds whatever programs print, in order', async () => {
    const { id } = await create();
    const lines = ['plain', 'nul \0 inside', 'ünïcödé 🙂', 'lone \ud800 half', '', "it's; drop table --"];
    await store.journal.log(id, at, lines.slice(0, 2));
    await store.journal.log(id, at + 1, []);
    await store.journal.log(id, at - 5_000, lines.slice(2));
    const first = await store.operationLists.logs(id, { limit: 4 });
    const rest = await store.operationLists.logs(id, { limit: 4, cursor: first.next ?? '' });
    expect([...first.items, ...rest.items].map(({ line }) => line)).toEqual([
      'plain',
      'nul \u{FFFD} inside',
      'ünïcödé 🙂',
      'lone \u{FFFD} half',
      '',
      "it's; drop table --",
    ]);
    expect(rest.next).toBeUndefined();
  });
});
