// Tokens, the audit log, idempotency keys and schedules.
import { createHash } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { connectClient } from '../../src/database/connection/connection.ts';
import type { Store } from '../../src/database/open-database.ts';
import { administer, type StoreBench, startStoreBench } from '../support/store.ts';

let bench: StoreBench;

beforeAll(async () => {
  bench = await startStoreBench();
});

afterAll(() => bench.stop());

const farAway = '2999-01-01T00:00:00.000Z';

async function change(store: Store, statement: string): Promise<void> {
  const client = await connectClient(store.database.url, { 'imago.epoch': String(store.database.epoch) });
  await client.query(statement);
  await client.end();
}

describe('tokens', () => {
  test('rule 10: the secret is nowhere in the database, only its hash', async () => {
    const { tokens, database } = await bench.freshStore();
    const { record, secret } = await tokens.create('ann', 'publisher', farAway);
    expect(secret).toMatch(/^imago_[A-Za-z0-9_-]{43}$/);
    expect(JSON.stringify(record)).not.toContain(secret);
    const [row] = await administer<{ secret_hash: Buffer; whole: string }>(
      database.url,
      'select secret_hash, t::text as whole from imago.tokens t',
    );
    expect(row?.secret_hash).toEqual(createHash('sha256').update(secret).digest());
    expect(row?.whole).not.toContain(secret.slice('imago_'.length));
  });

  test('let in the live ones only', async () => {
    const store = await bench.freshStore();
    const { tokens } = store;
    const { record, secret } = await tokens.create('ann', 'viewer', farAway);
    const past = await tokens.create('bob', 'admin', '2020-01-01T00:00:00.000Z');
    expect(await tokens.authenticate(secret)).toMatchObject({ id: record.id, owner: 'ann', role: 'viewer' });
    for (const wrong of [
      '',
      'imago_',
      secret.slice(0, -1),
      `${secret}x`,
      secret.toUpperCase(),
      past.secret,
      "' or true --",
    ]) {
      expect(await tokens.authenticate(wrong), wrong).toBeUndefined();
    }
    expect(await tokens.revoke(record.id)).toBe(true);
    expect(await tokens.authenticate(secret)).toBeUndefined();
    const revoked = (await tokens.list({ limit: 10 })).items.find(({ id }) => id === record.id);
    expect(await tokens.revoke(record.id)).toBe(true);
    expect((await tokens.list({ limit: 10 })).items.find(({ id }) => id === record.id)).toEqual(revoked);
    expect(await tokens.revoke('nothing')).toBe(false);
  });

  test('remember their last use, at most once a minute', async () => {
    const store = await bench.freshStore();
    const { record, secret } = await store.tokens.create('ann', 'viewer', farAway);
    const lastUse = async () => (await store.tokens.list({ limit: 1 })).items[0]?.lastUsedAt;
    expect(await lastUse()).toBeUndefined();
    await store.tokens.authenticate(secret);
    const first = await lastUse();
    expect(first).toBeDefined();
    await store.tokens.authenticate(secret);
    expect(await lastUse()).toBe(first);
    for (const jump of ["- interval '2 minutes'", "+ interval '2 days'"]) {
      await change(
        store,
        `update imago.tokens set last_used_at = last_used_at ${jump} where id = '${record.id}'`,
      );
      const moved = await lastUse();
      await store.tokens.authenticate(secret);
      expect(await lastUse(), jump).not.toBe(moved);
    }
  });

  test('are listed newest first, in pages', async () => {
    const { tokens } = await bench.freshStore();
    const made = [];
    for (let index = 0; index < 5; index += 1)
      made.push((await tokens.create('ann', 'viewer', farAway)).record.id);
    const first = await tokens.list({ limit: 2 });
    const second = await tokens.list({ limit: 2, cursor: first.next ?? '' });
    const third = await tokens.list({ limit: 2, cursor: second.next ?? '' });
    const listed = [first, second, third].flatMap(({ items }) => items.map(({ id }) => id));
    expect(listed.toSorted()).toEqual(made.toSorted());
    expect(third.next).toBeUndefined();
    await expect(tokens.list({ limit: 2, cursor: 'x' })).rejects.toMatchObject({
      code: 'api-cursor-invalid',
    });
  });
});

test('the audit log keeps who did what, before and after, newest first', async () => {
  const { audit } = await bench.freshStore();
  const entry = { who: 'ann', what: 'setPool', subject: 'pool/web', requestId: 'r', status: 200 };
  await audit.add({ ...entry, before: null, after: { size: 3 } });
  await audit.add({ ...entry, subject: 'pool/db' });
  await audit.add({ ...entry, after: null, status: 409 });
  const { items } = await audit.list({ limit: 10, subject: 'pool/web' });
  expect(items.map(({ id, at, ...rest }) => rest)).toEqual([
    { ...entry, after: null, status: 409 },
    { ...entry, before: null, after: { size: 3 } },
  ]);
  const first = await audit.list({ limit: 2 });
  const rest = await audit.list({ limit: 2, cursor: first.next ?? '' });
  expect([...first.items, ...rest.items].map(({ id }) => id)).toEqual([3, 2, 1]);
});

describe('idempotency keys', () => {
  test('are claimed by one of many, and answered when it has finished', async () => {
    const { idempotency } = await bench.freshStore();
    const claims = await Promise.all(Array.from({ length: 10 }, () => idempotency.claim('k', 'ann', 'f')));
    expect(claims.filter(({ outcome }) => outcome === 'new')).toHaveLength(1);
    expect(claims.filter(({ outcome }) => outcome === 'running')).toHaveLength(9);
    expect(await idempotency.claim('k', 'ann', 'other')).toEqual({ outcome: 'differs' });
    expect(await idempotency.claim('k', 'bob', 'other')).toEqual({ outcome: 'new' });
    const answer = { status: 202, body: { id: 'op', none: null } };
    await idempotency.finish('k', 'ann', answer);
    expect(await idempotency.claim('k', 'ann', 'f')).toEqual({ outcome: 'answered', answer });
    expect(await idempotency.claim('k', 'ann', 'other')).toEqual({ outcome: 'differs' });
  });

  test('that were forgotten are new again; those that were answered are not forgotten', async () => {
    const { idempotency } = await bench.freshStore();
    await idempotency.claim('k', 'ann', 'f');
    await idempotency.forget('k', 'ann');
    await idempotency.forget('k', 'ann');
    expect(await idempotency.claim('k', 'ann', 'other')).toEqual({ outcome: 'new' });
    await idempotency.finish('k', 'ann', { status: 204, body: null });
    await idempotency.forget('k', 'ann');
    expect(await idempotency.claim('k', 'ann', 'other')).toEqual({
      outcome: 'answered',
      answer: { status: 204, body: null },
    });
  });

  test('that a dead daemon claimed and never finished are taken over by the next one', async () => {
    const first = await bench.freshStore();
    await first.idempotency.claim('running', 'ann', 'f');
    await first.idempotency.claim('done', 'ann', 'f');
    await first.idempotency.finish('done', 'ann', { status: 200, body: 1 });
    await administer(first.database.url, 'update imago.lease set epoch = 1');
    const { idempotency } = await bench.freshStore({ url: first.database.url, epoch: 1 });
    expect(await idempotency.claim('running', 'ann', 'other')).toEqual({ outcome: 'differs' });
    const claims = await Promise.all([1, 2, 3].map(() => idempotency.claim('running', 'ann', 'f')));
    expect(claims.map(({ outcome }) => outcome).toSorted()).toEqual(['new', 'running', 'running']);
    expect(await idempotency.claim('done', 'ann', 'f')).toMatchObject({ outcome: 'answered' });
  });

  test('are remembered after a day without their response, and refuse every request', async () => {
    const store = await bench.freshStore();
    const { idempotency } = store;
    for (const key of ['old', 'older', 'young']) {
      await idempotency.claim(key, 'ann', 'f');
      await idempotency.finish(key, 'ann', { status: 200, body: null });
    }
    await change(
      store,
      "update imago.idempotency_keys set claimed_at = claimed_at - interval '25 hours' where key like 'old%'",
    );
    expect(await idempotency.claim('old', 'ann', 'f')).toEqual({ outcome: 'expired' });
    expect(await idempotency.expire()).toBe(2);
    expect(await idempotency.expire()).toBe(0);
    expect(await administer(store.database.url, 'select key from imago.idempotency_keys')).toEqual([
      { key: 'young' },
    ]);
    for (const fingerprint of ['f', 'other']) {
      expect(await idempotency.claim('old', 'ann', fingerprint)).toEqual({ outcome: 'expired' });
    }
    expect(await idempotency.claim('old', 'bob', 'f')).toEqual({ outcome: 'new' });
    expect(await idempotency.claim('young', 'ann', 'f')).toMatchObject({ outcome: 'answered' });
  });

  test('that expire while they are claimed again are refused, not done twice', async () => {
    const store = await bench.freshStore();
    const { idempotency } = store;
    const keys = Array.from({ length: 30 }, (_, index) => `k${index}`);
    for (const key of keys) await idempotency.claim(key, 'ann', 'f');
    await change(store, "update imago.idempotency_keys set claimed_at = claimed_at - interval '25 hours'");
    const claims = await Promise.all([
      ...keys.map((key) => idempotency.claim(key, 'ann', 'f')),
      idempotency.expire().then(() => ({ outcome: 'expired' })),
      ...keys.toReversed().map((key) => idempotency.claim(key, 'ann', 'f')),
    ]);
    expect(new Set(claims.map(({ outcome }) => outcome))).toEqual(new Set(['expired']));
  });
});

test('schedules are kept until they are deleted, and remember what they started last', async () => {
  const { schedules } = await bench.freshStore();
  const schedule = {
    name: 'nightly',
    cron: '0 3 * * *',
    timeZone: 'Europe/Paris',
    kind: 'build',
    subject: 'image/node',
    input: { recipe: { b: 1, a: null } },
    by: 'ann',
  };
  const made = await schedules.create(schedule);
  expect(made).toEqual({ ...schedule, createdAt: made.createdAt });
  expect(await schedules.create(schedule)).toEqual(made);
  await expect(schedules.create({ ...schedule, timeZone: 'UTC' })).rejects.toMatchObject({
    code: 'schedule-exists',
  });
  await schedules.create({ ...schedule, name: 'hourly' });
  await schedules.recordFired('nightly', '2026-11-15T02:00:00.000Z', 'op-1');
  await schedules.recordFired('never-was', '2026-11-15T02:00:00.000Z', 'op-2');
  expect(await schedules.get('nightly')).toEqual({
    ...made,
    lastFiredAt: '2026-11-15T02:00:00.000Z',
    lastOperation: 'op-1',
  });
  const first = await schedules.list({ limit: 1 });
  const rest = await schedules.list({ limit: 5, cursor: first.next ?? '' });
  expect([...first.items, ...rest.items].map(({ name }) => name)).toEqual(['hourly', 'nightly']);
  expect([await schedules.delete('nightly'), await schedules.delete('nightly')]).toEqual([true, false]);
  expect(await schedules.get('nightly')).toBeUndefined();
});
