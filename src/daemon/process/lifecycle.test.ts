import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { ErrorRecord } from '../../domain/error/imago-error.ts';
import { createLifecycle, nextRestart, pauseBefore, readRestarts } from './lifecycle.ts';
import type { Log } from './log.ts';

interface Observed {
  readonly exits: number[];
  readonly replaced: NodeJS.ProcessEnv[];
  readonly errors: string[];
  readonly waiting: ErrorRecord[];
}

function observed(env: NodeJS.ProcessEnv = {}) {
  const seen: Observed = { exits: [], replaced: [], errors: [], waiting: [] };
  const log: Log = { info: () => {}, warn: () => {}, error: (message) => void seen.errors.push(message) };
  const lifecycle = createLifecycle({
    log,
    env,
    exit: (code) => void seen.exits.push(code),
    replace: (next) => void seen.replaced.push(next),
    onWaiting: (reason) => void seen.waiting.push(reason),
  });
  return { lifecycle, ...seen };
}

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

describe('a stop', () => {
  it('ends what began last first, then exits', async () => {
    const { lifecycle, exits } = observed();
    const order: string[] = [];
    for (const name of ['lock', 'database', 'requests']) {
      lifecycle.onStop({ name, deadlineMs: 1000, run: () => void order.push(name) });
    }
    lifecycle.stop({ database: true });
    await vi.runAllTimersAsync();
    expect(order).toEqual(['requests', 'database', 'lock']);
    expect(lifecycle.ending.aborted).toBe(true);
    expect(exits).toEqual([0]);
  });

  it('logs and skips a step that hangs or fails', async () => {
    const { lifecycle, exits, errors } = observed();
    const order: string[] = [];
    lifecycle.onStop({ name: 'lock', deadlineMs: 1000, run: () => void order.push('lock') });
    lifecycle.onStop({ name: 'hangs', deadlineMs: 1000, run: () => new Promise(() => {}) });
    lifecycle.onStop({ name: 'fails', deadlineMs: 1000, run: () => Promise.reject(new Error('no')) });
    lifecycle.stop({ database: false });
    await vi.runAllTimersAsync();
    expect(order).toEqual(['lock']);
    expect(errors).toEqual(['stopping: fails failed', 'stopping: hangs failed']);
    expect(exits).toEqual([0]);
  });

  it('asked for twice happens once, but the second can add the database', async () => {
    const { lifecycle, exits } = observed();
    const databases: boolean[] = [];
    lifecycle.onStop({ name: 'x', deadlineMs: 1000, run: ({ database }) => void databases.push(database) });
    lifecycle.stop({ database: false });
    lifecycle.stop({ database: true });
    await vi.runAllTimersAsync();
    expect(databases).toEqual([true]);
    expect(exits).toEqual([0]);
  });

  it('in the middle of the start also stops what is only being started', async () => {
    const { lifecycle, exits } = observed();
    const stopped: string[] = [];
    lifecycle.hold(
      (async () => {
        await new Promise((done) => setTimeout(done, 500));
        lifecycle.onStop({ name: 'late', deadlineMs: 1000, run: () => void stopped.push('late') });
        throw new Error('stopped while starting');
      })(),
    );
    lifecycle.stop({ database: true });
    await vi.runAllTimersAsync();
    expect(stopped).toEqual(['late']);
    expect(exits).toEqual([0]);
  });

  it('because of a failure tells it by the exit code', async () => {
    const { lifecycle, exits } = observed();
    lifecycle.stop({ database: true, exitCode: 5 });
    await vi.runAllTimersAsync();
    expect(exits).toEqual([5]);
  });
});

describe('a restart in place', () => {
  it('first tells everything that runs to end, and runs no clean-up', async () => {
    const { lifecycle, replaced, exits, waiting } = observed({ PATH: '/bin' });
    const cleaned: string[] = [];
    lifecycle.onStop({ name: 'x', deadlineMs: 1000, run: () => void cleaned.push('x') });
    lifecycle.restart('PostgreSQL exited');
    expect(lifecycle.ending.aborted).toBe(true);
    expect(replaced).toEqual([]);
    await vi.runAllTimersAsync();
    expect(replaced).toMatchObject([{ PATH: '/bin' }]);
    expect(readRestarts(replaced[0] ?? {})).toMatchObject({ count: 1 });
    expect(waiting).toMatchObject([
      { code: 'daemon-starting', message: expect.stringContaining('PostgreSQL exited') },
    ]);
    expect({ cleaned, exits }).toEqual({ cleaned: [], exits: [] });
  });

  it('happens once however many reasons come in', async () => {
    const { lifecycle, replaced } = observed();
    lifecycle.restart('the lease is lost');
    lifecycle.restart('PostgreSQL exited');
    await vi.runAllTimersAsync();
    expect(replaced).toHaveLength(1);
  });

  it('gives way to a stop that comes while it waits', async () => {
    const { lifecycle, replaced, exits } = observed({
      IMAGO_RESTARTS: JSON.stringify({ count: 20, at: Date.now() }),
    });
    lifecycle.restart('the disk is full');
    await vi.advanceTimersByTimeAsync(1000);
    lifecycle.stop({ database: true });
    await vi.runAllTimersAsync();
    expect({ replaced, exits }).toEqual({ replaced: [], exits: [0] });
  });

  it('does not happen while the daemon stops', async () => {
    const { lifecycle, replaced } = observed();
    lifecycle.stop({ database: true });
    lifecycle.restart('the lease is lost');
    await vi.runAllTimersAsync();
    expect(replaced).toEqual([]);
  });

  it('restarts immediately the first time, and later each time after that', () => {
    expect([1, 2, 3, 4, 5].map(pauseBefore)).toEqual([0, 0, 250, 500, 1000]);
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 10_000 }), (count) => {
        expect(pauseBefore(count)).toBeLessThanOrEqual(pauseBefore(count + 1));
        expect(pauseBefore(count)).toBeLessThanOrEqual(10_000);
      }),
    );
  });

  it('resets the count after a quiet minute, and after the clock was set back', () => {
    const last = { count: 7, at: 1_000_000 };
    expect(nextRestart(last, 1_000_000 + 59_000).count).toBe(8);
    expect(nextRestart(last, 1_000_000 + 61_000).count).toBe(1);
    expect(nextRestart(last, 1_000_000 - 3_600_000).count).toBe(1);
    expect(nextRestart(undefined, 5)).toEqual({ count: 1, at: 5 });
  });

  it.each(['', 'x', '{}', '{"count":"1","at":2}', '[]'])(
    'is not counted from a broken record: %s',
    (text) => {
      expect(readRestarts({ IMAGO_RESTARTS: text })).toBeUndefined();
    },
  );
});
