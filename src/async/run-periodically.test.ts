// Rounds that can be asked for early: never two concurrently, and none is lost.
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { until } from '../../test/support/until.ts';
import { every } from './run-periodically.ts';

test('asked for while a round runs, the next one begins when it has ended; many calls are one', async () => {
  const ending = new AbortController();
  let running = 0;
  let most = 0;
  const done: (() => void)[] = [];
  const rounds = every(
    3_600_000,
    ending.signal,
    async () => {
      running += 1;
      most = Math.max(most, running);
      await new Promise<void>((resolve) => done.push(resolve));
      running -= 1;
    },
    () => undefined,
  );
  rounds.soon();
  await until('the first round', () => done.length === 1);
  for (let n = 0; n < 5; n += 1) rounds.soon();
  done[0]?.();
  await until('the second round', () => done.length === 2);
  done[1]?.();
  await sleep(20);
  expect([done.length, most]).toEqual([2, 1]);
  ending.abort();
  rounds.soon();
  await sleep(20);
  expect(done).toHaveLength(2);
});

test('reports what a round throws, and runs the next one', async () => {
  const ending = new AbortController();
  const errors: unknown[] = [];
  let count = 0;
  const rounds = every(
    3_600_000,
    ending.signal,
    async () => {
      count += 1;
      throw new Error(`round ${count}`);
    },
    (error) => errors.push(error),
  );
  rounds.soon();
  await until('the first error', () => errors.length === 1);
  rounds.soon();
  await until('the second error', () => errors.length === 2);
  ending.abort();
  expect(String(errors[1])).toContain('round 2');
});
