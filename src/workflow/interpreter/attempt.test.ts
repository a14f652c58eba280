import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { Clock } from '../../ports/clock.ts';
import { attempt } from './attempt.ts';

const clock: Clock = { now: () => Date.now(), sleep: (ms, signal) => nap(ms, signal) };
const fast: Clock = { now: () => Date.now() * 1000, sleep: (ms, signal) => nap(ms / 1000, signal) };

function nap(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    setTimeout(resolve, ms);
    signal?.addEventListener('abort', () => reject(signal.reason), { once: true });
  });
}

function limits(signal = new AbortController().signal, workClock = clock, timeoutMs = 60_000) {
  return { clock, workClock, timeoutMs, signal, description: 'Step x' };
}

function untilAborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => signal.addEventListener('abort', () => reject(new Error('aborted'))));
}

describe('one try', () => {
  beforeEach(() => {
    vi.useFakeTimers();
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  it('gives what the body gives, and leaves no timer that it listens to', async () => {
    expect(await attempt(async () => 5, limits())).toBe(5);
    await expect(attempt(() => Promise.reject(new Error('mine')), limits())).rejects.toThrow('mine');
  });

  it('aborts the body at the deadline and reports it, regardless of what the body throws', async () => {
    const tried = attempt(untilAborted, limits()).catch((error) => error);
    await vi.advanceTimersByTimeAsync(60_000);
    expect(await tried).toMatchObject({ code: 'operation-step-timeout', retryable: true });
  });

  it('takes a result that comes after the deadline: it is true all the same', async () => {
    const tried = attempt(async (signal) => {
      await untilAborted(signal).catch(() => undefined);
      return 'late';
    }, limits());
    await vi.advanceTimersByTimeAsync(60_000);
    expect(await tried).toBe('late');
  });

  it('leaves a body alone that does not listen, after some grace', async () => {
    const tried = attempt(() => new Promise(() => undefined), limits()).catch((error) => error);
    const settled = vi.fn();
    void tried.then(settled);
    await vi.advanceTimersByTimeAsync(89_000);
    expect(settled).not.toHaveBeenCalled();
    await vi.advanceTimersByTimeAsync(2_000);
    expect(await tried).toMatchObject({ code: 'operation-step-timeout' });
  });

  it('passes a stop on to the body, and what the body threw to the caller', async () => {
    const stop = new AbortController();
    const tried = attempt(untilAborted, limits(stop.signal)).catch((error) => error);
    stop.abort(new Error('stop'));
    expect(await tried).toMatchObject({ message: 'aborted' });
  });

  it('gives work on a provider whose time flies at least a minute of ours', async () => {
    const tried = attempt(untilAborted, limits(undefined, fast, 600_000)).catch((error) => error);
    const settled = vi.fn();
    void tried.then(settled);
    await vi.advanceTimersByTimeAsync(59_000);
    expect(settled).not.toHaveBeenCalled();
    await vi.advanceTimersByTimeAsync(1_500);
    expect(await tried).toMatchObject({ code: 'operation-step-timeout' });
  });
});
