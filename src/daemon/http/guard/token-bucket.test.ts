// The rate limiter: never more than it should, and never an unbounded memory.
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createRateLimiter } from './token-bucket.ts';

test('in any stretch of time no more is let through than the burst and what came back', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 20 }),
      fc.integer({ min: 1, max: 50 }),
      fc.array(fc.integer({ min: 0, max: 400 }), { maxLength: 200 }),
      (burst, perSecond, pauses) => {
        let now = 0;
        const limiter = createRateLimiter({ burst, perSecond }, () => now);
        const passed: number[] = [];
        for (const pause of pauses) {
          now += pause;
          if (limiter.take('a').allowed) passed.push(now);
        }
        for (const [first, start] of passed.entries()) {
          for (let last = first; last < passed.length; last += 1) {
            const stretch = ((passed[last] ?? 0) - start) / 1000;
            expect(last - first + 1).toBeLessThanOrEqual(burst + stretch * perSecond + 1e-6);
          }
        }
      },
    ),
  );
});

test('allows a request after the returned wait', () => {
  let now = 0;
  const limiter = createRateLimiter({ burst: 1, perSecond: 3 }, () => now);
  expect(limiter.take('a')).toEqual({ allowed: true });
  const refused = limiter.take('a');
  if (refused.allowed) throw new Error('it was let through');
  now += refused.waitMs;
  expect(limiter.take('a')).toEqual({ allowed: true });
});

test('one name does not use up the requests of another, and looking takes nothing', () => {
  const limiter = createRateLimiter({ burst: 1, perSecond: 1 }, () => 0);
  expect(limiter.peek('a')).toEqual({ allowed: true });
  expect(limiter.take('a').allowed).toBe(true);
  expect(limiter.take('a').allowed).toBe(false);
  expect(limiter.take('b').allowed).toBe(true);
});

test('a flood of names does not fill the memory, and names that were quiet are forgotten', () => {
  let now = 0;
  const limiter = createRateLimiter({ burst: 5, perSecond: 1 }, () => now, 100);
  for (let name = 0; name < 5000; name += 1) limiter.take(`address ${name}`);
  expect(limiter.size).toBeLessThanOrEqual(100);
  now += 3_600_000;
  limiter.take('late');
  expect(limiter.size).toBe(1);
});

test('a clock that goes back gives nothing away', () => {
  let now = 10_000;
  const limiter = createRateLimiter({ burst: 1, perSecond: 1 }, () => now);
  expect(limiter.take('a').allowed).toBe(true);
  now = 0;
  expect(limiter.take('a').allowed).toBe(false);
});
