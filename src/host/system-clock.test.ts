import { describe, expect, it } from 'vitest';
import { within } from '../async/deadline.ts';
import { systemClock } from './system-clock.ts';

describe('the system clock', () => {
  it('wakes a sleeper early with the signal’s reason, and never falls asleep when it is aborted', async () => {
    const stop = new AbortController();
    const sleeping = systemClock.sleep(3_600_000, stop.signal);
    stop.abort(new Error('get up'));
    await expect(sleeping).rejects.toThrow('get up');
    await expect(systemClock.sleep(3_600_000, stop.signal)).rejects.toThrow('get up');
    await expect(systemClock.sleep(0, stop.signal)).rejects.toThrow('get up');
  });

  it('sleeps longer than a timer of Node’s can without waking immediately', async () => {
    const stop = new AbortController();
    const sleeping = systemClock.sleep(2 ** 40, stop.signal).then(
      () => 'awake',
      () => 'aborted',
    );
    await systemClock.sleep(20);
    stop.abort();
    expect(await sleeping).toBe('aborted');
  });
});

describe('within', () => {
  it('reports whether the work settled in time, even if it failed', async () => {
    expect(await within(Promise.resolve(), 10_000)).toBe(true);
    expect(await within(Promise.reject(new Error('no')), 10_000)).toBe(true);
    expect(await within(new Promise(() => undefined), 5)).toBe(false);
  });
});
