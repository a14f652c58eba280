import { describe, expect, it } from 'vitest';
import { createVirtualClock } from '../../../test/support/engine/virtual-clock.ts';
import { runBody, unlessStopped } from './run-body.ts';

async function settles(promise: Promise<unknown>): Promise<boolean> {
  const silent = new Promise<boolean>((resolve) => setTimeout(resolve, 20, false));
  return Promise.race([promise.then(() => true), silent]);
}

describe('a body', () => {
  it('that throws is called again with growing pauses', async () => {
    const clock = createVirtualClock({ auto: true });
    const at: number[] = [];
    const thrown: unknown[] = [];
    const value = await runBody(
      async () => {
        at.push(clock.now());
        if (at.length < 4) throw new Error(`${at.length}`);
        return 'done';
      },
      { clock, signal: new AbortController().signal, onThrow: (error) => thrown.push(error) },
    );
    expect(value).toBe('done');
    expect(thrown).toHaveLength(3);
    expect(at.map((time) => time - (at[0] ?? 0))).toEqual([0, 500, 1_500, 3_500]);
  });

  it('that throws after the run was stopped neither returns nor is called again', async () => {
    const stop = new AbortController();
    let calls = 0;
    let stopped = 0;
    const run = runBody(
      async () => {
        calls += 1;
        stop.abort();
        throw new Error('aborted');
      },
      {
        clock: createVirtualClock({ auto: true }),
        signal: stop.signal,
        onThrow: () => expect.unreachable(),
        onStopped: () => {
          stopped += 1;
        },
      },
    );
    expect(await settles(run)).toBe(false);
    expect([calls, stopped]).toEqual([1, 1]);
  });

  it('that returns after the run was stopped still gives its result, which may be recorded', async () => {
    const stop = new AbortController();
    const body = async () => {
      stop.abort();
      return 7;
    };
    const clock = createVirtualClock();
    expect(await runBody(body, { clock, signal: stop.signal, onThrow: () => undefined })).toBe(7);
  });
});

it('a stopped run no longer waits', async () => {
  const stop = new AbortController();
  const work = Promise.withResolvers<number>();
  const waiting = unlessStopped(work.promise, stop.signal);
  stop.abort();
  work.resolve(1);
  expect(await settles(waiting)).toBe(false);
  expect(await settles(unlessStopped(Promise.resolve(1), stop.signal))).toBe(false);
});
