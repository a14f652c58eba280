// Webhooks over a real database and real sockets: nothing is lost by a crash, nothing private is reached, and what
// arrives can be checked by whoever has the secret.
import { createHmac } from 'node:crypto';
import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { sendWebhooks } from '../../src/daemon/webhook/deliver.ts';
import { openWebhookKey, type WebhookKey } from '../../src/daemon/webhook/key.ts';
import { checkWebhookAddress, type Post, postWebhook } from '../../src/daemon/webhook/post.ts';
import type { Store } from '../../src/database/open-database.ts';
import { retryPausesMs } from '../../src/domain/webhook/webhook.ts';
import type { Resolve } from '../../src/host/network/address-guard.ts';
import type { NewWebhook } from '../../src/ports/database/webhooks.ts';
import { type ApiBench, openApi } from '../support/api-bench.ts';
import { type HookReceiver, startHookReceiver } from '../support/hook-receiver.ts';
import { patience } from '../support/speed.ts';
import { type StoreBench, seedImage, startStoreBench } from '../support/store.ts';
import { until } from '../support/until.ts';

let bench: StoreBench;
let folder: string;
let key: WebhookKey;
let receiver: HookReceiver;
const clock = { at: Date.parse('2026-11-16T00:00:00Z'), now: () => clock.at };

beforeAll(async () => {
  bench = await startStoreBench();
  folder = await mkdtemp(join(tmpdir(), 'imago-hooks-'));
  key = await openWebhookKey(folder);
});
afterAll(async () => {
  await bench.stop();
  await rm(folder, { recursive: true });
});
beforeEach(async () => {
  receiver = await startHookReceiver();
  return () => receiver.close();
});

async function freshStore(): Promise<Store> {
  const store = await bench.freshStore({ now: clock.now });
  await seedImage(store, 'node', 2);
  return store;
}

function hook(more: Partial<NewWebhook> = {}): NewWebhook {
  return {
    ...{ name: 'ci', url: receiver.url, events: ['channel.moved'], allowPrivate: true, by: 'ann' },
    ...{ salt: key.newSalt(), keyId: key.id, ...more },
  };
}

function move(store: Store, to: string, channel = 'production', image = 'node') {
  return store.catalogue.moveChannel({ image, channel, to, by: 'ann', why: 'good' });
}

/** A sender that lives until `end`; `post` can be put in the place of the network. */
function startSender(store: Store, options: { readonly post?: typeof postWebhook } = {}) {
  const ending = new AbortController();
  const troubles: unknown[] = [];
  const running = sendWebhooks({
    ...{ outbox: store.outbox, events: store.events, key, clock, random: () => 0 },
    ...{ signal: ending.signal, onError: (error: unknown) => void troubles.push(error), ...options },
  });
  return {
    troubles,
    async end() {
      ending.abort();
      await running;
    },
  };
}

async function untilLog(store: Store, name: string, state: string, count = 1) {
  return until(`${count} deliveries are ${state}`, async () => {
    const { items } = await store.webhooks.log(name, { limit: 100 });
    return items.filter((item) => item.state === state).length >= count && items;
  });
}

describe('sending again', () => {
  test('what was given up arrives with its old id when it is asked for, once', async () => {
    const store = await freshStore();
    await store.webhooks.create(hook());
    await move(store, '1.0.1');
    await store.outbox.collect((event) => JSON.stringify({ id: event.id }));
    const [due] = await store.outbox.due(10);
    await store.outbox.record(due?.id ?? 0, { kind: 'failed', error: 'The receiver responded with 500.' });
    const sender = startSender(store);
    expect(await store.webhooks.resend('ci', undefined, 'ann')).toBe(1);
    await receiver.until(1);
    const [sent] = await untilLog(store, 'ci', 'delivered');
    expect(sent).toMatchObject({ attempts: 1, event: due?.event, status: 204 });
    expect(sent).not.toHaveProperty('error');
    expect(receiver.received[0]?.headers['webhook-id']).toBe(`${key.id}_ci_${due?.event}`);
    expect(await store.webhooks.resend('ci', undefined, 'ann')).toBe(0);
    expect(await store.webhooks.resend('ci', due?.event, 'ann')).toBe(1);
    await receiver.until(2);
    expect(receiver.received[1]?.headers['webhook-id']).toBe(receiver.received[0]?.headers['webhook-id']);
    await sender.end();
  });

  test('what waits is left alone, and a webhook that is gone is refused', async () => {
    const store = await freshStore();
    await store.webhooks.create(hook());
    await move(store, '1.0.1');
    await store.outbox.collect(() => '{}');
    expect(await store.webhooks.resend('ci', undefined, 'ann')).toBe(0);
    const [due] = await store.outbox.due(10);
    await store.outbox.record(due?.id ?? 0, { kind: 'gone', status: 410 });
    await expect(store.webhooks.resend('ci', due?.event, 'ann')).rejects.toMatchObject({
      code: 'webhook-gone',
    });
    expect(await store.webhooks.resend('unknown', undefined, 'ann')).toBe(0);
  });
});

describe('what arrives', () => {
  test('a move is told as a CloudEvent whose signature fits the secret; other events and images are not', async () => {
    const store = await freshStore();
    await seedImage(store, 'other', 1);
    await move(store, '1.0.0');
    const webhook = hook({ image: 'node' });
    await store.webhooks.create(webhook);
    const sender = startSender(store);
    await move(store, '1.0.0', 'production', 'other');
    await move(store, '1.0.1');
    await receiver.until(1);
    await untilLog(store, 'ci', 'delivered');
    await sender.end();
    expect(receiver.received).toHaveLength(1);
    const [{ headers, body } = { headers: {}, body: '' }] = receiver.received;
    expect(JSON.parse(body)).toMatchObject({
      ...{
        specversion: '1.0',
        type: 'imago.channel.moved',
        subject: 'image/node',
        source: `urn:imago:${key.id}`,
      },
      data: { channel: 'production', from: '1.0.0', to: '1.0.1' },
    });
    const signed = `${headers['webhook-id']}.${headers['webhook-timestamp']}.${body}`;
    const secret = Buffer.from(key.secretOf(webhook).slice('whsec_'.length), 'base64');
    expect(headers['webhook-signature']).toBe(
      `v1,${createHmac('sha256', secret).update(signed).digest('base64')}`,
    );
    // The dots of what is signed must stay the only ones.
    expect(headers['webhook-id']).not.toContain('.');
    expect(headers['content-type']).toMatch(/^application\/cloudevents\+json/);
    expect(sender.troubles).toEqual([]);
  });

  test('moves, withdrawals and deadlines are told; the database and a log hold no secret', async () => {
    const store = await freshStore();
    const webhook = hook({ events: ['channel.moved', 'version.state', 'support.ending'] });
    await store.webhooks.create(webhook);
    await move(store, '1.0.0');
    await store.lifecycle.withdrawals.withdraw({
      ...{ image: 'node', version: '1.0.1', reason: 'broken', withDescendants: false },
      ...{ by: 'ann', operation: 'op' },
    });
    await store.lifecycle.support.tellOnce(
      { kind: 'support.ending', subject: 'image/node', mark: '30' },
      { daysLeft: 30 },
    );
    const sender = startSender(store);
    // Two moves: the one asked for, and `latest` going back from the withdrawn version.
    const items = await untilLog(store, 'ci', 'delivered', 4);
    await sender.end();
    const types = receiver.received.map(({ body }) => (JSON.parse(body) as { type: string }).type);
    const moved = 'imago.channel.moved';
    expect(types.toSorted()).toEqual([moved, moved, 'imago.support.ending', 'imago.version.state']);
    const secret = key.secretOf(webhook);
    const rows = await store.database.read((tables) => tables.selectFrom('webhooks').selectAll().execute());
    expect(JSON.stringify([items, rows])).not.toContain(secret.slice('whsec_'.length));
  });
});

describe('what goes wrong', () => {
  test('a sender that dies after the other side took it sends it again, with the same id', async () => {
    const store = await freshStore();
    await store.webhooks.create(hook());
    await move(store, '1.0.0');
    const dying = new AbortController();
    const first = sendWebhooks({
      ...{ outbox: store.outbox, events: store.events, key, clock, signal: dying.signal },
      onError: () => undefined,
      async post(asked) {
        const status = await postWebhook(asked);
        dying.abort();
        return status;
      },
    });
    await first;
    expect((await store.webhooks.log('ci', { limit: 10 })).items).toMatchObject([{ state: 'waiting' }]);
    const second = startSender(store);
    await untilLog(store, 'ci', 'delivered');
    await second.end();
    const ids = receiver.received.map(({ headers }) => headers['webhook-id']);
    expect(ids).toHaveLength(2);
    expect(new Set(ids).size).toBe(1);
  });

  test('what happened while no sender lived is told by the next; nothing is written down twice', async () => {
    const store = await freshStore();
    await store.webhooks.create(hook());
    for (let n = 0; n < 3; n += 1) await move(store, `1.0.${n % 2}`);
    const body = () => '{}';
    const counts = await Promise.all([store.outbox.collect(body), store.outbox.collect(body)]);
    expect(counts.reduce((sum, count) => sum + count)).toBe(3);
    expect(await store.outbox.collect(body)).toBe(0);
    const sender = startSender(store);
    await untilLog(store, 'ci', 'delivered', 3);
    await sender.end();
    expect(receiver.received).toHaveLength(3);
  });

  test('a failure is tried again after growing pauses, and given up after the last', async () => {
    const store = await freshStore();
    await store.webhooks.create(hook());
    await move(store, '1.0.0');
    const post = async () => 500;
    for (const [index, pause] of retryPausesMs.entries()) {
      const sender = startSender(store, { post });
      const [item] = await untilAttempts(store, index + 1);
      await sender.end();
      expect(item).toMatchObject({
        state: 'waiting',
        status: 500,
        error: 'The receiver responded with 500.',
      });
      expect(Date.parse(item?.nextAt ?? '') - clock.at).toBe(pause);
      clock.at += pause;
    }
    const last = startSender(store, { post });
    expect(await untilLog(store, 'ci', 'failed')).toMatchObject([{ attempts: retryPausesMs.length + 1 }]);
    await last.end();
  });

  async function untilAttempts(store: Store, attempts: number) {
    return until(`${attempts} attempts`, async () => {
      const { items } = await store.webhooks.log('ci', { limit: 10 });
      return items[0]?.attempts === attempts && items;
    });
  }

  test('a redirect is a failure and is not followed; one slow side does not hold up another', async () => {
    const store = await freshStore();
    receiver.answer = () => 302;
    await store.webhooks.create(hook({ name: 'moved' }));
    await store.webhooks.create(hook({ name: 'slow', salt: key.newSalt() }));
    await move(store, '1.0.0');
    const sender = startSender(store, {
      post: (asked: Post) =>
        asked.id.includes('_slow_')
          ? new Promise((_, reject) =>
              asked.signal.addEventListener('abort', () => reject(asked.signal.reason)),
            )
          : postWebhook(asked),
    });
    const [item] = await until('the first attempt', async () => {
      const { items } = await store.webhooks.log('moved', { limit: 10 });
      return (items[0]?.attempts ?? 0) > 0 && items;
    });
    expect(item).toMatchObject({ state: 'waiting', status: 302 });
    await sender.end();
    expect((await store.webhooks.log('slow', { limit: 10 })).items[0]).toMatchObject({ attempts: 0 });
  });

  test('410 ends the webhook, and what waits for it', async () => {
    const store = await freshStore();
    receiver.answer = () => 410;
    await store.webhooks.create(hook());
    await move(store, '1.0.0');
    await move(store, '1.0.1');
    const sender = startSender(store);
    await untilLog(store, 'ci', 'failed', 2);
    await sender.end();
    expect(await store.webhooks.get('ci')).toMatchObject({ state: 'gone' });
    await move(store, '1.0.0');
    expect(await store.outbox.collect(() => '{}')).toBe(0);
  });

  test('a webhook whose key is elsewhere is not sent, and says so', async () => {
    const store = await freshStore();
    await store.webhooks.create(hook({ keyId: 'another' }));
    await move(store, '1.0.0');
    const sender = startSender(store);
    const [item] = await untilAttempts(store, 1);
    await sender.end();
    expect(item?.error).toContain('was derived from another key');
    expect(sender.troubles).not.toEqual([]);
    expect(receiver.received).toEqual([]);
  });
});

describe('private addresses', () => {
  const post = (url: string, allowPrivate = false) => ({
    ...{ url: new URL(url), allowPrivate, id: '1', body: '{}', secret: 'whsec_AA==', timestamp: 1 },
    signal: AbortSignal.timeout(patience(10_000)),
  });

  test('one address of several that is private is enough to refuse, and nothing is connected to', async () => {
    const resolve: Resolve = (_, answer) =>
      answer(null, [
        { address: '93.184.215.14', family: 4 },
        { address: '127.0.0.1', family: 4 },
      ]);
    await expect(postWebhook(post('https://rebind.example/'), resolve)).rejects.toMatchObject({
      code: 'webhook-address',
    });
    await expect(postWebhook(post('https://[::ffff:127.0.0.1]/'))).rejects.toMatchObject({
      code: 'webhook-address',
    });
    await expect(
      checkWebhookAddress(new URL('https://a.example/'), false, (_, answer) =>
        answer(new Error('no such name'), []),
      ),
    ).resolves.toBeUndefined();
  });

  test('a name server that never answers does not hold up a delivery for ever', async () => {
    const giveUp = new AbortController();
    const sending = postWebhook({ ...post('https://slow.example/'), signal: giveUp.signal }, () => undefined);
    giveUp.abort(new Error('given up'));
    await expect(sending).rejects.toThrow('given up');
  });

  test('a name is resolved once, and the connection goes to the address that was looked at', async () => {
    let asked = 0;
    const { port } = new URL(receiver.url);
    const resolve: Resolve = (_, answer) => {
      asked += 1;
      answer(null, [{ address: '127.0.0.1', family: 4 }]);
    };
    const url = `http://rebind.example:${port}/hook`;
    expect(await postWebhook(post(url, true), resolve)).toBe(204);
    expect(asked).toBe(1);
    expect(receiver.received[0]?.headers.host).toBe(`rebind.example:${port}`);
    await expect(postWebhook(post('https://169.254.169.254/', true))).rejects.toMatchObject({
      code: 'webhook-address',
    });
  });
});

test('the key is made once, is for its owner alone, and a damaged one is replaced and kept', async () => {
  const own = await mkdtemp(join(tmpdir(), 'imago-hooks-'));
  const [one, two] = await Promise.all([openWebhookKey(own), openWebhookKey(own)]);
  expect(one.id).toBe(two.id);
  expect((await stat(join(own, 'webhook.key'))).mode & 0o777).toBe(0o600);
  await writeFile(join(own, 'webhook.key'), 'short');
  expect((await openWebhookKey(own)).id).not.toBe(one.id);
  expect(await readFile(join(own, 'webhook.key.invalid'), 'utf8')).toBe('short');
  await rm(own, { recursive: true });
});

describe('over the API', () => {
  let api: ApiBench;
  beforeAll(async () => {
    api = await openApi(bench);
  });
  afterAll(() => api.close());

  test.each([
    ['a private address', { url: 'https://10.0.0.1/' }, 'webhook-address'],
    ['the metadata service', { url: 'https://169.254.169.254/' }, 'webhook-address'],
    ['a name of this machine', { url: 'https://localhost/' }, 'webhook-address'],
    ['plain HTTP', { url: 'http://example.com/' }, 'webhook-address'],
    ['an event that is none', { url: 'https://1.1.1.1/', events: ['x'] }, 'input-invalid'],
    ['an image that is none', { url: 'https://1.1.1.1/', image: 'none' }, 'image-not-found'],
    ['a name that is none', { url: 'https://1.1.1.1/', name: 'A b' }, 'name-malformed'],
  ])('%s is refused, and nothing is kept', async (_what, body, code) => {
    await expect(api.client.call('createWebhook', { body: { name: 'ci', ...body } })).rejects.toMatchObject({
      code,
    });
    expect((await api.client.call('listWebhooks')).items).toEqual([]);
  });

  test('only admins make one; its secret is shown once and is not in the audit', async () => {
    const body = { name: 'ci', url: 'https://1.1.1.1/hook' };
    const ann = await api.clientOf('publisher', 'ann');
    await expect(ann.call('createWebhook', { body })).rejects.toMatchObject({ code: 'api-role-too-small' });
    const { secret } = await api.client.call('createWebhook', { body });
    await expect(api.client.call('createWebhook', { body })).rejects.toMatchObject({
      code: 'webhook-exists',
    });
    const audit = JSON.stringify(await api.client.call('listAudit', { query: { limit: 50 } }));
    expect(audit).toContain('createWebhook');
    expect(audit).not.toContain(secret);
    await expect(api.client.call('listDeliveries', { path: { webhook: 'cj' } })).rejects.toMatchObject({
      code: 'webhook-not-found',
      hint: expect.stringContaining('ci'),
    });
  });
});
