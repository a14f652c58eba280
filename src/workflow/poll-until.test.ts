import { describe, expect, it } from 'vitest';
import { settle } from './poll-until.ts';

/** A clock that stands still but for pauses and what reads take. */
function stillClock() {
  const clock = {
    at: 0,
    now: () => clock.at,
    sleep: async (ms: number) => {
      clock.at += ms;
    },
  };
  return clock;
}

function options(clock: ReturnType<typeof stillClock>) {
  return { clock, signal: new AbortController().signal, deadlineMs: 60_000, what: 'The disk' };
}

describe('waiting for a provider', () => {
  it('gives the first value that is read', async () => {
    const clock = stillClock();
    expect(await settle(async () => (clock.at > 3_000 ? 'there' : undefined), options(clock))).toBe('there');
    expect(clock.at).toBeLessThan(10_000);
  });

  it('gives up after a read that began when its time was over', async () => {
    const clock = stillClock();
    const begun: number[] = [];
    const read = async () => void begun.push(clock.at);
    await expect(settle(read, options(clock))).rejects.toMatchObject({
      code: 'provider-timeout',
      message: 'The disk did not settle within 60 s.',
    });
    expect(begun.filter((at) => at >= 60_000)).toHaveLength(1);
  });

  it('reads again if the host slept through the deadline', async () => {
    const clock = stillClock();
    let reads = 0;
    const read = async () => {
      reads += 1;
      if (reads > 1) return 'there';
      clock.at += 3_600_000;
      return undefined;
    };
    expect(await settle(read, options(clock))).toBe('there');
  });

  it('ends when its signal aborts', async () => {
    const clock = stillClock();
    const told = AbortSignal.abort(new Error('enough'));
    await expect(settle(async () => undefined, { ...options(clock), signal: told })).rejects.toThrow(
      'enough',
    );
  });
});
