import { describe, expect, it } from 'vitest';
import { createSharedWork } from './shared-work.ts';

const never = new AbortController().signal;

/** Work that ends on request, or when it is aborted. */
function handWork() {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const tellers: ((event: string) => void)[] = [];
  let begun = 0;
  return {
    finish: resolve,
    tell: (event: string) => {
      for (const teller of tellers) teller(event);
    },
    get begun() {
      return begun;
    },
    work: (signal: AbortSignal, tell: (event: string) => void) => {
      begun += 1;
      tellers.push(tell);
      signal.addEventListener('abort', () => reject(signal.reason));
      return promise;
    },
  };
}

const ignore = () => undefined;

describe('shared work', () => {
  it('is done once for all who ask for the same', async () => {
    const shared = createSharedWork<string, string>();
    const hand = handWork();
    const heard: string[] = [];
    const one = shared.join('key', never, (event) => heard.push(`one ${event}`), hand.work);
    const two = shared.join('key', never, (event) => heard.push(`two ${event}`), hand.work);
    await Promise.resolve();
    hand.tell('half');
    hand.finish('done');
    expect(await Promise.all([one, two])).toEqual(['done', 'done']);
    expect(hand.begun).toBe(1);
    expect(heard).toEqual(['one half', 'two half']);
  });

  it('continues when one of two leaves, and stops when the last does', async () => {
    const shared = createSharedWork<string, string>();
    const hand = handWork();
    const first = new AbortController();
    const last = new AbortController();
    const one = shared.join('key', first.signal, ignore, hand.work);
    const two = shared.join('key', last.signal, ignore, hand.work);
    first.abort('first leaves');
    await expect(one).rejects.toBe('first leaves');
    hand.finish('done');
    expect(await two).toBe('done');

    const other = handWork();
    const three = shared.join('key', last.signal, ignore, other.work);
    last.abort('last leaves');
    await expect(three).rejects.toBe('last leaves');
    const again = handWork();
    again.finish('anew');
    expect(await shared.join('key', never, ignore, again.work)).toBe('anew');
  });

  it('a failure reaches all, and the next caller starts again', async () => {
    const shared = createSharedWork<string, string>();
    const fail = () => Promise.reject(new Error('broken'));
    await expect(shared.join('key', never, ignore, fail)).rejects.toThrow('broken');
    expect(await shared.join('key', never, ignore, async () => 'mended')).toBe('mended');
  });

  it('different keys do not share', async () => {
    const shared = createSharedWork<string, string>();
    expect(
      await Promise.all([
        shared.join('a', never, ignore, async () => 'a'),
        shared.join('b', never, ignore, async () => 'b'),
      ]),
    ).toEqual(['a', 'b']);
  });
});
