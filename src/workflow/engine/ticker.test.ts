import { describe, expect, it } from 'vitest';
import { createVirtualClock, type VirtualClock } from '../../../test/support/engine/virtual-clock.ts';
import { parseCron, tick } from './ticker.ts';

async function times(
  start: string,
  cron: string,
  timeZone: string,
  pass: (clock: VirtualClock) => Promise<void>,
): Promise<string[]> {
  const clock = createVirtualClock({ start: Date.parse(start) });
  const stop = new AbortController();
  const fired: string[] = [];
  const ticking = tick(parseCron({ name: 'test', cron, timeZone }), clock, stop.signal, async (at) => {
    fired.push(at.toISOString());
  });
  await pass(clock);
  stop.abort();
  await clock.advance(60_000);
  await ticking;
  return fired;
}

const hours = (count: number) => (clock: VirtualClock) => clock.advance(count * 3_600_000);

describe('a schedule', () => {
  it('goes by its time zone, through the change to summer time', async () => {
    const fired = await times('2026-03-28T00:00:00Z', '0 9 * * *', 'Europe/Paris', hours(72));
    expect(fired).toEqual([
      '2026-03-28T08:00:00.000Z',
      '2026-03-29T07:00:00.000Z',
      '2026-03-30T07:00:00.000Z',
    ]);
  });

  it('takes six fields, seconds first', async () => {
    const fired = await times('2026-01-01T00:00:00.500Z', '*/20 * * * * *', 'UTC', (clock) =>
      clock.advance(60_000),
    );
    expect(fired.map((time) => time.slice(17, 23))).toEqual(['20.000', '40.000', '00.000']);
  });

  it('fires the last of the times that passed while the host slept, once', async () => {
    const fired = await times('2026-01-01T00:00:00Z', '0 * * * *', 'UTC', async (clock) => {
      clock.jump(5.5 * 3_600_000);
      await clock.advance(60_000);
      await clock.advance(3_600_000);
    });
    expect(fired).toEqual(['2026-01-01T05:00:00.000Z', '2026-01-01T06:00:00.000Z']);
  });

  it('fires no time twice when the clock is set back', async () => {
    const fired = await times('2026-01-01T00:30:00Z', '0 * * * *', 'UTC', async (clock) => {
      await clock.advance(3_600_000);
      clock.jump(-2 * 3_600_000);
      await clock.advance(4 * 3_600_000);
    });
    expect(fired).toEqual([
      '2026-01-01T01:00:00.000Z',
      '2026-01-01T02:00:00.000Z',
      '2026-01-01T03:00:00.000Z',
    ]);
  });

  it('ends when there is no next time', async () => {
    const fired = await times('2026-01-01T00:00:00Z', '0 0 30 2 *', 'UTC', hours(24 * 400));
    expect(fired).toEqual([]);
  });
});
