import { describe, expect, test } from 'vitest';
import { ImagoError } from '../domain/error/imago-error.ts';
import { mapLimit } from './map-limit.ts';
import { retryAfterMs, withRetry } from './retry.ts';

const policy = { attempts: 4, firstDelayMs: 1, longestDelayMs: 5 };

function failing(times: number, retryable: boolean) {
  let calls = 0;
  return async (attempt: number) => {
    calls += 1;
    expect(attempt).toBe(calls);
    if (calls <= times) throw new ImagoError('registry-failed', `failure ${calls}`, { retryable });
    return calls;
  };
}

describe('trying again', () => {
  test('retries until it works, or was tried often enough', async () => {
    await expect(withRetry(policy, undefined, failing(3, true))).resolves.toBe(4);
    await expect(withRetry(policy, undefined, failing(9, true))).rejects.toThrow('failure 4');
  });

  test('fails immediately if a retry cannot help', async () => {
    await expect(withRetry(policy, undefined, failing(1, false))).rejects.toThrow('failure 1');
  });

  test('ends when cancelled, also while waiting', async () => {
    const stop = new AbortController();
    const slow = { attempts: 9, firstDelayMs: 60_000, longestDelayMs: 60_000 };
    const running = withRetry(slow, stop.signal, failing(9, true));
    setImmediate(() => stop.abort());
    await expect(running).rejects.toMatchObject({ code: 'cancelled' });
  });

  test('a server may name its own time, in seconds or as a date', () => {
    expect(retryAfterMs('7', 0)).toBe(7000);
    expect(retryAfterMs('Thu, 01 Jan 1970 00:00:10 GMT', 4000)).toBe(6000);
    expect(retryAfterMs('soon', 0)).toBeUndefined();
    expect(retryAfterMs(undefined, 0)).toBeUndefined();
  });
});

describe('a few at a time', () => {
  test('keeps the order of results and the limit', async () => {
    let running = 0;
    let most = 0;
    const results = await mapLimit([5, 4, 3, 2, 1], 2, async (item) => {
      running += 1;
      most = Math.max(most, running);
      await new Promise((resolve) => setTimeout(resolve, item));
      running -= 1;
      return item * 10;
    });
    expect(results).toEqual([50, 40, 30, 20, 10]);
    expect(most).toBe(2);
  });

  test('starts nothing more once one has failed, and waits for those in progress', async () => {
    const started: number[] = [];
    let finished = 0;
    const work = mapLimit([0, 1, 2, 3], 2, async (item) => {
      started.push(item);
      await new Promise((resolve) => setTimeout(resolve, item * 5));
      finished += 1;
      if (item === 0) throw new Error('first failed');
    });
    await expect(work).rejects.toThrow('first failed');
    expect(started).toEqual([0, 1]);
    expect(finished).toBe(2);
  });
});
