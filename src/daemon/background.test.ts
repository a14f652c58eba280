import { describe, expect, test } from 'vitest';
import { ImagoError } from '../domain/error/imago-error.ts';
import type { FoundProblem } from '../domain/problem/problem.ts';
import { createBackground } from './background.ts';

const behind: FoundProblem = { kind: 'pool-behind', subject: 'pool/web', message: 'It could not follow.' };

function world() {
  const calls: unknown[] = [];
  const changed: { wake: () => void } = { wake: () => undefined };
  const note = async (...call: unknown[]) => {
    calls.push(call);
    changed.wake();
  };
  const ending = new AbortController();
  const background = createBackground({
    problems: {
      report: (...call) => note('report', ...call),
      sync: (...call) => note('sync', ...call),
      repaired: (...call) => note('repaired', ...call),
    },
    log: { warn: () => undefined, error: () => undefined },
    signal: ending.signal,
  });
  async function until(count: number): Promise<void> {
    while (calls.length < count) {
      await new Promise<void>((resolve) => {
        changed.wake = resolve;
      });
    }
    ending.abort();
  }
  return { background, calls, until, ending };
}

describe('a background job', () => {
  test('records everything that it found, so that the rest is resolved', async () => {
    const { background, calls, until } = world();
    const rounds = [[behind], undefined];
    background.job('reconcile', 1, async () => rounds.shift());
    await until(2);
    expect(calls.slice(0, 2)).toEqual([
      ['sync', 'reconcile', [behind]],
      ['sync', 'reconcile', []],
    ]);
  });

  test('that fails is a problem itself, resolves nothing, and runs again', async () => {
    const { background, calls, until } = world();
    let failed = false;
    background.job('reconcile', 1, async () => {
      if (failed) return [];
      failed = true;
      throw new ImagoError('database-busy', 'Too many connections.');
    });
    await until(2);
    const message = 'The background job reconcile failed: Too many connections.';
    expect(calls[0]).toEqual([
      ...['report', 'reconcile'],
      { kind: 'job-failed', subject: 'job/reconcile', message },
    ]);
    expect(calls[1]).toEqual(['sync', 'reconcile', []]);
  });
});

test('nothing is reported once the daemon stops', () => {
  const { background, calls, ending } = world();
  ending.abort();
  background.report('local', behind);
  expect(calls).toEqual([]);
});
