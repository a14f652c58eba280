// The event stream on real sockets: cut, slow, abandoned, too many, and across a restart of the daemon.
import { get, type IncomingMessage } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createClient } from '../../src/api/client/client.ts';
import { createEventParser } from '../../src/api/client/event-stream.ts';
import type { ApiEvent } from '../../src/api/client/watch-events.ts';
import { createApp } from '../../src/daemon/http/app.ts';
import type { DaemonContext } from '../../src/daemon/http/endpoint/context.ts';
import { openListener } from '../../src/daemon/http/listener.ts';
import { createRequestListener } from '../../src/daemon/http/request-listener.ts';
import { type ApiBench, type ApiBenchOptions, checkAnswer, openApi } from '../support/api-bench.ts';
import { startCuttingProxy } from '../support/cutting-proxy.ts';
import { type StoreBench, startStoreBench } from '../support/store.ts';
import { until } from '../support/until.ts';

let bench: StoreBench;

beforeAll(async () => {
  bench = await startStoreBench();
});
afterAll(async () => {
  await bench.stop();
});

async function withApi(options: ApiBenchOptions, body: (api: ApiBench) => Promise<void>): Promise<void> {
  const api = await openApi(bench, options);
  try {
    await body(api);
  } finally {
    await api.close();
  }
}

const event = (n: number, subject = 'operation/a') => ({ type: 'test', subject, data: { n } });

/** Reads events until one says that it is the last. */
async function collect(events: AsyncIterable<ApiEvent>): Promise<readonly ApiEvent[]> {
  const all: ApiEvent[] = [];
  for await (const one of events) {
    all.push(one);
    if (one.type === 'last') break;
  }
  return all;
}

/** Counts what the streams ask of the store, and who still listens. */
function counting() {
  const counts = { lists: 0, listeners: 0 };
  const context = (given: DaemonContext): DaemonContext => ({
    ...given,
    events: {
      ...given.events,
      async list(query) {
        counts.lists += 1;
        return given.events.list(query);
      },
      onAdded(listener) {
        counts.listeners += 1;
        const end = given.events.onAdded(listener);
        return () => {
          counts.listeners -= 1;
          end();
        };
      },
    },
  });
  return { counts, context };
}

function openRaw(socketPath: string, path = '/v1/events', headers = {}): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    get({ socketPath, path, headers, agent: false }, resolve).on('error', reject);
  });
}

describe('cuts', () => {
  test('at any byte lose no event and double none, while several write at once', () =>
    withApi({ limits: { reconnectMs: 20 } }, async (api) => {
      const proxy = await startCuttingProxy(`${api.socketPath}.proxy`, api.socketPath);
      const client = createClient({ socketPath: proxy.socketPath });
      let seed = 7;
      // Small budgets cut within the head, within a frame and between frames.
      proxy.cutAfter(() => {
        seed = (seed * 1103515245 + 12345) % 2147483648;
        return 250 + (seed % 1500);
      });
      try {
        const total = 150;
        const cuts: string[] = [];
        const reading = collect(client.events({ after: 0, onDisconnect: (error) => cuts.push(error.code) }));
        const writers = [0, 1, 2].map(async (writer) => {
          for (let n = writer; n < total; n += 3) {
            await api.store.events.add(event(n));
            if (n % 10 < 3) await sleep(5);
          }
        });
        await Promise.all(writers);
        await api.store.events.add({ type: 'last', subject: 'operation/a', data: null });
        const seen = await reading;
        const wanted = await api.store.events.list({ after: 0, limit: 1000 });
        expect(seen).toEqual(wanted);
        expect(seen).toHaveLength(total + 1);
        expect(proxy.cuts).toBeGreaterThan(5);
        expect(cuts.length).toBeGreaterThan(5);
        for (const one of seen) checkAnswer('watchEvents', one);
      } finally {
        client.close();
        await proxy.close();
      }
    }));

  test('before the first event lose nothing that happened since the stream was opened', () =>
    withApi({}, async (api) => {
      const proxy = await startCuttingProxy(`${api.socketPath}.proxy`, api.socketPath);
      const client = createClient({ socketPath: proxy.socketPath });
      try {
        await api.store.events.add(event(0));
        const opened = Promise.withResolvers<void>();
        const reading = collect(client.events({ onDisconnect: () => opened.resolve() }));
        await expect.poll(() => proxy.returned).toMatch(/^id: /m);
        proxy.cutAll();
        await api.store.events.add(event(1));
        await opened.promise;
        await api.store.events.add({ type: 'last', subject: 'x', data: null });
        expect((await reading).map(({ data }) => data)).toEqual([{ n: 1 }, null]);
      } finally {
        client.close();
        await proxy.close();
      }
    }));

  test('by a daemon that goes away and comes back are outlived', () =>
    withApi({}, async (api) => {
      const socketPath = `${api.socketPath}.again`;
      const start = async () => {
        const stopping = new AbortController();
        const listener = await openListener(socketPath, undefined);
        listener.serve(createRequestListener(createApp({ ...api.context, stopping: stopping.signal })));
        return async () => {
          stopping.abort();
          await listener.close(100);
        };
      };
      let stop = await start();
      const client = createClient({ socketPath });
      try {
        const reading = collect(client.events({ after: 0 }));
        for (let round = 0; round < 4; round += 1) {
          await api.store.events.add(event(round));
          await sleep(30);
          await stop();
          await api.store.events.add(event(round + 100));
          stop = await start();
        }
        await api.store.events.add({ type: 'last', subject: 'x', data: null });
        expect(await reading).toEqual(await api.store.events.list({ after: 0, limit: 100 }));
      } finally {
        client.close();
        await stop();
      }
    }));

  test('of the database end the stream, and the client goes on', () =>
    withApi({}, async (api) => {
      let broken = false;
      const socketPath = `${api.socketPath}.db`;
      const { events } = api.context;
      const list: typeof events.list = (query) =>
        broken ? Promise.reject(new Error('away')) : events.list(query);
      const listener = await openListener(socketPath, undefined);
      listener.serve(createRequestListener(createApp({ ...api.context, events: { ...events, list } })));
      const client = createClient({ socketPath });
      try {
        const cut = Promise.withResolvers<void>();
        const reading = collect(client.events({ after: 0, onDisconnect: () => cut.resolve() }));
        await events.add(event(1));
        await sleep(100);
        broken = true;
        await events.add(event(2));
        await cut.promise;
        broken = false;
        await events.add({ type: 'last', subject: 'x', data: null });
        expect((await reading).map(({ id }) => id)).toEqual([1, 2, 3]);
      } finally {
        client.close();
        await listener.close(100);
      }
    }));
});

describe('a client', () => {
  test('that does not read costs no memory, and gets everything when it reads again', () => {
    const { counts, context } = counting();
    return withApi({ context }, async (api) => {
      const big = 'x'.repeat(5000);
      const total = 6000;
      const stream = await openRaw(api.socketPath, '/v1/events?after=0');
      stream.pause();
      const { database } = api.store;
      await database.write(async ({ emit }) => {
        for (let n = 0; n < total; n += 1) emit({ type: 'big', subject: 'a', data: { n, big } });
      });
      let asked = -1;
      while (asked !== counts.lists) {
        asked = counts.lists;
        await sleep(300);
      }
      // 30 MB wait; what was read for it is what fits into the buffers of the connection.
      expect(asked).toBeLessThan(total / 200 / 3);

      const parse = createEventParser();
      const numbers: number[] = [];
      for await (const chunk of stream) {
        for (const { data } of parse(chunk as Uint8Array).events) {
          if (data !== '') numbers.push((JSON.parse(data) as { data: { n: number } }).data.n);
        }
        if (numbers.length === total) break;
      }
      expect(numbers).toEqual(Array.from({ length: total }, (_, n) => n));
    });
  });

  test('that hangs up leaves nothing behind, whenever it does', () => {
    const { counts, context } = counting();
    return withApi({ context, limits: { streamsEach: 3 } }, async (api) => {
      for (let n = 0; n < 20; n += 1) {
        const stream = await openRaw(api.socketPath);
        if (n % 2 === 0) await new Promise((resolve) => stream.once('data', resolve));
        stream.destroy();
        await until('the listener is gone', () => counts.listeners === 0);
      }
    });
  });

  test('that opens too many streams is refused until it closes one', () =>
    withApi({ limits: { streamsEach: 2 } }, async (api) => {
      const first = await openRaw(api.socketPath);
      const second = await openRaw(api.socketPath);
      expect([first.statusCode, second.statusCode]).toEqual([200, 200]);
      const refused = await api.askProblem({ path: '/v1/events' });
      expect(refused).toMatchObject({ status: 429, code: 'api-streams-limited' });
      first.destroy();
      await until('there is room for another stream', async () => {
        const again = await openRaw(api.socketPath);
        again.destroy();
        return again.statusCode === 200;
      });
      second.destroy();
    }));

  test('whose token is revoked is cut off', () =>
    withApi({ limits: { rightsMs: 50 } }, async (api) => {
      const secret = await api.token('viewer', 'ann');
      const stream = await openRaw(api.socketPath, '/v1/events', { authorization: `Bearer ${secret}` });
      stream.resume();
      await sleep(150);
      expect(stream.complete).toBe(false);
      const [token] = (await api.store.tokens.list({ limit: 1 })).items;
      await api.store.tokens.revoke(token?.id ?? '');
      await new Promise((resolve) => stream.once('error', resolve));
    }));

  test('sees that a quiet stream lives', () =>
    withApi({ limits: { heartbeatMs: 30 } }, async (api) => {
      const stream = await openRaw(api.socketPath);
      let text = '';
      for await (const chunk of stream) {
        text += String(chunk);
        if (text.includes(': still here')) break;
      }
      expect(stream.headers['content-type']).toBe('text/event-stream; charset=utf-8');
    }));

  test('that asks for one subject gets no other', () =>
    withApi({}, async (api) => {
      const reading = collect(api.client.events({ subject: 'pool/web', after: 0 }));
      for (let n = 0; n < 20; n += 1)
        await api.store.events.add(event(n, n % 4 === 0 ? 'pool/web' : 'pool/other'));
      await api.store.events.add({ type: 'last', subject: 'pool/web', data: null });
      expect((await reading).map(({ data }) => data)).toEqual([
        ...[0, 4, 8, 12, 16].map((n) => ({ n })),
        null,
      ]);
    }));

  test('that is told to stop stops at once', () =>
    withApi({}, async (api) => {
      const abort = new AbortController();
      const reading = collect(api.client.events({ signal: abort.signal }));
      await sleep(100);
      abort.abort(new Error('enough'));
      await expect(reading).rejects.toThrow('enough');
    }));
});

test('a daemon that stops ends its streams, and closing waits for none', () =>
  withApi({}, async (api) => {
    const streams = await Promise.all(Array.from({ length: 5 }, () => openRaw(api.socketPath)));
    for (const stream of streams) stream.resume();
    const ended = Promise.all(streams.map((stream) => new Promise((resolve) => stream.once('end', resolve))));
    await api.close();
    await ended;
  }));
