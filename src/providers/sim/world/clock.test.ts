import { describe, expect, it } from 'vitest';
import { createVirtualClock } from '../../../../test/support/sim/virtual-clock.ts';
import { createScaledClock, resumeTime } from './clock.ts';

describe('virtual clock', () => {
  it('wakes sleepers in the order of their due times, each at its own', async () => {
    const clock = createVirtualClock({ start: 0 });
    const woken: string[] = [];
    for (const [name, ms] of [
      ['late', 300],
      ['soon', 100],
      ['same', 100],
    ] as const) {
      void clock.sleep(ms).then(() => woken.push(`${name} at ${clock.now()}`));
    }
    await clock.advance(99);
    expect(woken).toEqual([]);
    await clock.advance(1000);
    expect(woken).toEqual(['soon at 100', 'same at 100', 'late at 300']);
    expect(clock.now()).toBe(1099);
    expect(clock.waiting).toBe(0);
  });

  it('lets who sleeps again on the way sleep from there', async () => {
    const clock = createVirtualClock({ start: 0 });
    const ticks: number[] = [];
    void (async () => {
      for (;;) {
        await clock.sleep(10);
        ticks.push(clock.now());
      }
    })();
    await clock.advance(35);
    expect(ticks).toEqual([10, 20, 30]);
  });

  it('automatically jumps to the next due time when nothing else is left to do', async () => {
    const clock = createVirtualClock({ start: 0, auto: true });
    const order: string[] = [];
    await Promise.all([
      clock.sleep(86_400_000).then(() => order.push('a day')),
      clock.sleep(1000).then(async () => {
        order.push('a second');
        await clock.sleep(1000);
        order.push('another');
      }),
    ]);
    expect(order).toEqual(['a second', 'another', 'a day']);
    expect(clock.now()).toBe(86_400_000);
  });

  it.each([false, true])('releases an aborted sleeper (auto: %s)', async (auto) => {
    const clock = createVirtualClock({ auto });
    const abort = new AbortController();
    const slept = clock.sleep(1000, abort.signal);
    const reason = new Error('enough');
    abort.abort(reason);
    await expect(slept).rejects.toBe(reason);
    await expect(clock.sleep(1, abort.signal)).rejects.toBe(reason);
    expect(clock.waiting).toBe(0);
  });
});

describe('scaled clock', () => {
  it('runs so many times as fast as real time, from where it is started', () => {
    let real = 50;
    const clock = createScaledClock({ timeScale: 1000, start: 7_000, monotonic: () => real });
    expect(clock.now()).toBe(7_000);
    real += 3;
    expect(clock.now()).toBe(10_000);
  });

  it('sleeps in its own time', async () => {
    const clock = createScaledClock({ timeScale: 100_000, start: 0 });
    await clock.sleep(500_000);
    expect(clock.now()).toBeGreaterThanOrEqual(500_000);
  });

  it('wakes sleepers sooner when it is made to run faster or moved on', async () => {
    const clock = createScaledClock({ timeScale: 0.001, start: 0 });
    const faster = clock.sleep(1_000);
    clock.setTimeScale(1_000_000);
    await faster;
    clock.setTimeScale(0.001);
    const moved = clock.sleep(1_000);
    clock.advanceTo(clock.now() + 1_000);
    await moved;
  });

  it('never goes back when it is slowed down or set to an earlier time', () => {
    let real = 0;
    const clock = createScaledClock({ timeScale: 1000, start: 0, monotonic: () => real });
    real = 10;
    clock.setTimeScale(1);
    clock.advanceTo(5);
    expect(clock.now()).toBe(10_000);
    real = 20;
    expect(clock.now()).toBe(10_010);
  });

  it('releases an aborted sleeper', async () => {
    const clock = createScaledClock({ timeScale: 1, start: 0 });
    const abort = new AbortController();
    const slept = clock.sleep(1e12, abort.signal);
    abort.abort('enough');
    await expect(slept).rejects.toBe('enough');
    await expect(clock.sleep(1, abort.signal)).rejects.toBe('enough');
  });

  it.each([0, -1, Number.NaN, Number.POSITIVE_INFINITY])('refuses a scale of %s', (timeScale) => {
    expect(() => createScaledClock({ timeScale, start: 0 })).toThrow('above 0');
  });
});

describe('resuming', () => {
  const anchor = { wall: 1_000, time: 50_000, timeScale: 1000 };

  it('a new world begins now', () => {
    expect(resumeTime(undefined, 0, 1_234)).toBe(1_234);
  });

  it('time passed while no process ran', () => {
    expect(resumeTime(anchor, 0, 1_010)).toBe(60_000);
  });

  it("stays at the last known time if the host's clock was set back", () => {
    expect(resumeTime(anchor, 55_000, 10)).toBe(55_000);
    expect(resumeTime(anchor, 0, 10)).toBe(50_000);
  });
});
