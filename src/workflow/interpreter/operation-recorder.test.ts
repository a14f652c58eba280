import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { ImagoError } from '../../domain/error/imago-error.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Journal } from '../../ports/workflow/operation.ts';
import { createScribe } from './operation-recorder.ts';

const clock: Clock = {
  now: () => Date.now(),
  sleep: (ms, signal) =>
    new Promise((resolve, reject) => {
      setTimeout(resolve, ms);
      signal?.addEventListener('abort', () => reject(signal.reason), { once: true });
    }),
};

type Written = readonly [string, ...unknown[]];

function paper() {
  const written: Written[] = [];
  let trouble: Error | undefined;
  let hold = Promise.resolve();
  async function write(...line: Written): Promise<void> {
    await hold;
    if (trouble) throw trouble;
    written.push(line);
  }
  const journal: Pick<Journal, 'update' | 'log'> = {
    update: (_, change, options) => write('update', change, options?.durable),
    log: (_, __, lines) => write('log', lines),
  };
  return {
    written,
    journal,
    break: (error: Error | undefined) => {
      trouble = error;
    },
    hold: (until: Promise<void>) => {
      hold = until;
    },
  };
}

describe('the scribe', () => {
  beforeEach(() => {
    vi.useFakeTimers();
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  function begin() {
    const stop = new AbortController();
    const page = paper();
    return {
      ...page,
      stop,
      scribe: createScribe({ journal: page.journal, id: 'op', clock, signal: stop.signal }),
    };
  }

  it('writes changes soon, without being waited for, and not durably', async () => {
    const { scribe, written } = begin();
    scribe.step('a', { state: 'running', attempts: 1 });
    scribe.operation({ state: 'running' });
    await vi.advanceTimersByTimeAsync(50);
    const steps = { a: { state: 'running', attempts: 1 } };
    expect(written).toEqual([['update', { state: 'running', steps }, false]]);
  });

  it('gathers changes while a write is in progress, and the latest one wins', async () => {
    const { scribe, written, hold } = begin();
    const writing = Promise.withResolvers<void>();
    hold(writing.promise);
    scribe.step('a', { state: 'running' });
    await vi.advanceTimersByTimeAsync(50);
    scribe.step('a', { state: 'done', result: 1 });
    scribe.step('b', { state: 'running' });
    scribe.step('b', { state: 'done' });
    writing.resolve();
    await vi.advanceTimersByTimeAsync(50);
    expect(written).toEqual([
      ['update', { steps: { a: { state: 'running' } } }, false],
      ['update', { steps: { a: { state: 'done', result: 1 }, b: { state: 'done' } } }, false],
    ]);
  });

  it('lets progress and log lines wait for more of them', async () => {
    const { scribe, written } = begin();
    for (let done = 1; done <= 50; done += 1) scribe.progress({ done, total: 50, sentence: 'copying' });
    scribe.log('one');
    scribe.log('two');
    await vi.advanceTimersByTimeAsync(200);
    expect(written).toEqual([]);
    await vi.advanceTimersByTimeAsync(100);
    expect(written).toEqual([
      ['log', ['one', 'two']],
      ['update', { progress: { done: 50, total: 50, sentence: 'copying' }, steps: {} }, false],
    ]);
  });

  it('makes everything durable on flush, in order after the write in progress', async () => {
    const { scribe, written } = begin();
    scribe.log('before');
    scribe.operation({ state: 'running' });
    scribe.step('a', { state: 'running' });
    await scribe.flush();
    const all = [
      ['log', ['before']],
      ['update', { state: 'running', steps: { a: { state: 'running' } } }, true],
    ];
    expect(written).toEqual(all);
    await vi.advanceTimersByTimeAsync(1_000);
    expect(written).toEqual(all);
  });

  it('throws from flush when nothing can be written, and loses nothing', async () => {
    const page = begin();
    page.break(new Error('the database is away'));
    page.scribe.step('a', { state: 'running', attempts: 1 });
    page.scribe.log('line');
    await expect(page.scribe.flush()).rejects.toThrow('away');
    page.scribe.step('a', { state: 'done' });
    page.break(undefined);
    await page.scribe.flush();
    expect(page.written).toEqual([
      ['log', ['line']],
      ['update', { steps: { a: { state: 'done', attempts: 1 } } }, true],
    ]);
  });

  it('retries automatically after an error in the background, but not as a stale owner', async () => {
    const page = begin();
    page.break(new Error('the database is away'));
    page.scribe.operation({ state: 'running' });
    await vi.advanceTimersByTimeAsync(500);
    page.break(undefined);
    await vi.advanceTimersByTimeAsync(1_000);
    expect(page.written).toHaveLength(1);

    page.break(new ImagoError('owner-stale', 'another'));
    page.scribe.operation({ state: 'waiting' });
    await vi.advanceTimersByTimeAsync(50);
    page.break(undefined);
    await vi.advanceTimersByTimeAsync(60_000);
    expect(page.written).toHaveLength(1);
  });

  it('writes nothing more in the background once the run is stopped', async () => {
    const { scribe, written, stop } = begin();
    scribe.progress({ done: 1, total: 2, sentence: 'x' });
    stop.abort();
    scribe.operation({ state: 'running' });
    await vi.advanceTimersByTimeAsync(60_000);
    expect(written).toEqual([]);
  });

  it('keeps a chatty step within bounds, and says how much it left out', async () => {
    const { scribe, written } = begin();
    for (let line = 0; line < 700; line += 1) scribe.log(`${line}`);
    scribe.log('x'.repeat(10_000));
    await vi.advanceTimersByTimeAsync(300);
    const lines = written[0]?.[1] as string[];
    expect(lines[0]).toBe('(201 lines omitted)');
    expect(lines).toHaveLength(501);
    expect(lines.at(-1)?.length).toBe(4_001);
  });

  it('stores at most 16 MiB of log lines for an operation, and reports that the rest is omitted', async () => {
    const { scribe, written } = begin();
    for (let line = 0; line < 10_000; line += 1) {
      scribe.log('x'.repeat(4_000));
      if (line % 100 === 0) await vi.advanceTimersByTimeAsync(300);
    }
    await vi.advanceTimersByTimeAsync(300);
    const lines = written.flatMap(([, texts]) => texts as string[]);
    const bytes = lines.reduce((sum, line) => sum + line.length, 0);
    expect(bytes).toBeGreaterThan(15 * 1024 ** 2);
    expect(bytes).toBeLessThanOrEqual(16 * 1024 ** 2);
    expect(lines.at(-1)).toBe('(The log exceeds 16 MiB. Further lines are omitted.)');
  });
});
