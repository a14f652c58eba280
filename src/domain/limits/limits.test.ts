import { describe, expect, test } from 'vitest';
import { checkRoom, forecast, replicasFor } from './limits.ts';

const now = new Date('2026-03-31T12:00:00Z');

describe('the day on which a limit is reached', () => {
  test('by the pace of the last weeks; older days play no part', () => {
    const samples = [
      { day: '2025-01-01', used: 0 },
      { day: '2026-03-11', used: 900 },
    ];
    expect(forecast({ name: 'versions', used: 9390, limit: 10_000 }, samples, now)).toMatchObject({
      ...{ growthPerDay: 435.38, reachedOn: '2026-04-01', percent: 93.9 },
      advice: expect.stringContaining('imago prune'),
    });
  });

  test('is not named when it shrinks, stands still, or is not known', () => {
    const use = { name: 'images', used: 5, limit: 1000 } as const;
    for (const samples of [[], [{ day: '2026-03-20', used: 5 }], [{ day: '2026-03-20', used: 50 }]]) {
      expect(forecast(use, samples, now).reachedOn).toBeUndefined();
    }
    expect(forecast(use, [{ day: '2026-03-31', used: 0 }], now).growthPerDay).toBeUndefined();
  });

  test('ten publications before the end there is advice, however small the share', () => {
    expect(forecast({ name: 'versions', used: 15, limit: 25 }, [], now).advice).toBeDefined();
    expect(forecast({ name: 'versions', used: 14, limit: 25 }, [], now).advice).toBeUndefined();
  });
});

test('what fits exactly is let through, one more is refused with what to do', () => {
  const uses = [{ name: 'versions', used: 9, limit: 10 }] as const;
  expect(() => checkRoom('node:1.0.0', uses, { versions: 1 })).not.toThrow();
  expect(() => checkRoom('node:1.0.0', uses, { versions: 2 })).toThrow('9 of 10 versions are used');
  expect(() => checkRoom('node:1.0.0', uses, { images: 5 })).not.toThrow();
});

test('one copy for every 20 machines made at once, at least 3 in production', () => {
  expect([1, 20, 21, 600].map((machines) => replicasFor(machines, false))).toEqual([1, 1, 2, 30]);
  expect([1, 60, 61].map((machines) => replicasFor(machines, true))).toEqual([3, 3, 4]);
});
