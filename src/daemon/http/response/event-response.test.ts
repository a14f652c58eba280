// The event stream: nothing lost, nothing twice, nothing kept for those who do not read, nothing left behind.
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createEventParser } from '../../../api/client/event-stream.ts';
import type { Events, ImagoEvent } from '../../../ports/database/events.ts';
import { eventBytes, startOfStream } from './event-response.ts';

function memoryEvents() {
  const all: ImagoEvent[] = [];
  const listeners = new Set<() => void>();
  let queries = 0;
  const events: Events = {
    async add(event) {
      all.push({ ...event, id: all.length + 1, at: '2026-01-01T00:00:00Z' });
      for (const listener of listeners) listener();
    },
    async list({ after, limit, subject }) {
      queries += 1;
      return all
        .filter((event) => event.id > after && (subject ?? event.subject) === event.subject)
        .slice(0, limit);
    },
    last: async () => all.length,
    oldest: async () => (all.length === 0 ? 0 : 1),
    onAdded(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
  return { events, listeners, queries: () => queries };
}

function open(events: Events, options: Partial<Parameters<typeof eventBytes>[0]> = {}) {
  const abort = new AbortController();
  let ended = 0;
  const stream = eventBytes({
    events,
    after: 0,
    signal: abort.signal,
    heartbeatMs: 60_000,
    reconnectMs: 500,
    onEnd: () => {
      ended += 1;
    },
    ...options,
  });
  return { reader: stream.getReader(), abort, ended: () => ended };
}

async function readIds(reader: ReadableStreamDefaultReader<Uint8Array>, count: number): Promise<number[]> {
  const parse = createEventParser();
  const ids: number[] = [];
  while (ids.length < count) {
    const { done, value } = await reader.read();
    if (done) break;
    for (const { id, data } of parse(value).events) if (data !== '') ids.push(Number(id));
  }
  return ids;
}

const event = { type: 'x', subject: 'a', data: null };

describe('a stream', () => {
  test('that is cut anywhere and resumed gives every event once and in order', async () => {
    const cuts = fc.array(fc.integer({ min: 1, max: 30 }), { minLength: 1, maxLength: 8 });
    await fc.assert(
      fc.asyncProperty(cuts, fc.integer({ min: 0, max: 200 }), async (sizes, before) => {
        const { events, listeners } = memoryEvents();
        for (let n = 0; n < before; n += 1) await events.add(event);
        const total = before + sizes.reduce((sum, size) => sum + size, 0);
        const writing = (async () => {
          for (let n = before; n < total; n += 1) {
            await events.add(event);
            if (n % 3 === 0) await new Promise((resolve) => setImmediate(resolve));
          }
        })();
        const seen: number[] = [];
        while (seen.length < total) {
          const size = sizes[seen.length % sizes.length] ?? 1;
          const { reader } = open(events, { after: seen.at(-1) ?? 0 });
          const got = await readIds(reader, Math.min(size, total - seen.length));
          seen.push(...got.slice(0, Math.min(size, total - seen.length)));
          await reader.cancel();
        }
        await writing;
        expect(seen).toEqual(Array.from({ length: total }, (_, n) => n + 1));
        expect(listeners.size).toBe(0);
      }),
      { numRuns: 20 },
    );
  });

  test('whose reader does not read asks the store for nothing, whatever happens', async () => {
    const { events, queries } = memoryEvents();
    const { reader } = open(events);
    await reader.read();
    for (let n = 0; n < 10_000; n += 1) await events.add(event);
    expect(queries()).toBe(0);
    expect(await readIds(reader, 1)).toHaveLength(200);
    expect(queries()).toBe(1);
    await reader.cancel();
  });

  test('begins by telling where it stands, so that a cut before the first event loses nothing', async () => {
    const { events } = memoryEvents();
    await events.add(event);
    const { reader } = open(events, { after: 1 });
    const { value } = await reader.read();
    expect(new TextDecoder().decode(value)).toMatch(/^retry: \d+\nid: 1\n\n$/);
    await reader.cancel();
  });

  test('shows that it is alive when nothing happens', async () => {
    const { events, listeners } = memoryEvents();
    const { reader, ended } = open(events, { heartbeatMs: 10 });
    await reader.read();
    expect(new TextDecoder().decode((await reader.read()).value)).toBe(': still here\n\n');
    await reader.cancel();
    expect(ended()).toBe(1);
    expect(listeners.size).toBe(0);
  });

  test.each(['before it is read', 'while it waits'])(
    'that is aborted %s ends once and leaves nothing',
    async (when) => {
      const { events, listeners } = memoryEvents();
      const { reader, abort, ended } = open(events);
      if (when === 'while it waits') {
        await reader.read();
        const waiting = reader.read();
        await new Promise((resolve) => setTimeout(resolve, 30));
        abort.abort();
        expect((await waiting).done).toBe(true);
      } else {
        abort.abort();
      }
      expect(ended()).toBe(1);
      expect(listeners.size).toBe(0);
    },
  );

  test('ends when the store fails, so that the client comes back', async () => {
    const { events } = memoryEvents();
    const broken = { ...events, list: async () => Promise.reject(new Error('database is away')) };
    const { reader, ended } = open(broken);
    await reader.read();
    expect((await reader.read()).done).toBe(true);
    expect(ended()).toBe(1);
  });
});

describe('the start of a stream', () => {
  test('is the newest event, unless one is named; the header has precedence', async () => {
    const { events } = memoryEvents();
    for (let n = 0; n < 5; n += 1) await events.add(event);
    expect(await startOfStream(events, {})).toBe(5);
    expect(await startOfStream(events, { after: '2' })).toBe(2);
    expect(await startOfStream(events, { after: '2', lastEventId: '4' })).toBe(4);
    expect(await startOfStream(events, { after: '0' })).toBe(0);
  });

  test.each(['6', '-1', 'x', '', '1.5', '99999999999999999999'])('%j is refused', async (after) => {
    const { events } = memoryEvents();
    for (let n = 0; n < 5; n += 1) await events.add(event);
    await expect(startOfStream(events, { after })).rejects.toMatchObject({ code: 'api-event-id-invalid' });
  });

  test('before what is kept is refused, because something would be missing', async () => {
    const { events } = memoryEvents();
    for (let n = 0; n < 5; n += 1) await events.add(event);
    const trimmed = { ...events, oldest: async () => 4 };
    await expect(startOfStream(trimmed, { after: '2' })).rejects.toMatchObject({ httpStatus: 410 });
    expect(await startOfStream(trimmed, { after: '0' })).toBe(0);
    expect(await startOfStream(trimmed, { after: '4' })).toBe(4);
  });
});
