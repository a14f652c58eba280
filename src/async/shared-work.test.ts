import { expect, test } from 'vitest';
import { sharedWork } from './shared-work.ts';

function slow() {
  const seen: AbortSignal[] = [];
  const done = Promise.withResolvers<string>();
  const start = (signal: AbortSignal) => {
    seen.push(signal);
    signal.addEventListener('abort', () => done.reject(signal.reason));
    return done.promise;
  };
  return { seen, done, start };
}

test('two callers share one piece of work', async () => {
  const { seen, done, start } = slow();
  const work = sharedWork<string>();
  const both = [1, 2].map(() => work.join('key', new AbortController().signal, start));
  done.resolve('made');
  expect(await Promise.all(both)).toEqual(['made', 'made']);
  expect(seen).toHaveLength(1);
});

test('one who leaves does not end the work of the others', async () => {
  const { seen, done, start } = slow();
  const work = sharedWork<string>();
  const leaver = new AbortController();
  const first = work.join('key', leaver.signal, start);
  const second = work.join('key', new AbortController().signal, start);
  leaver.abort(new Error('gone'));
  await expect(first).rejects.toThrow('gone');
  expect(seen[0]?.aborted).toBe(false);
  done.resolve('made');
  expect(await second).toBe('made');
});

test('the last one who leaves ends it, and waits until it has ended', async () => {
  const { seen, start } = slow();
  const leaver = new AbortController();
  const only = sharedWork<string>().join('key', leaver.signal, start);
  leaver.abort(new Error('gone'));
  await expect(only).rejects.toThrow('gone');
  expect(seen[0]?.aborted).toBe(true);
});

test('after a failure the next caller starts again', async () => {
  const work = sharedWork<string>();
  const signal = new AbortController().signal;
  await expect(work.join('key', signal, async () => Promise.reject(new Error('no')))).rejects.toThrow('no');
  expect(await work.join('key', signal, async () => 'made')).toBe('made');
});
