import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { ChannelMove } from '../channel/channel.ts';
import type { Resolution } from '../resolve/resolve.ts';
import {
  capacityToRestore,
  checkCapacity,
  checkPoolName,
  followMove,
  type PoolImage,
  poolImage,
} from './pool.ts';

const answer: Resolution = {
  reference: 'node:production',
  image: 'node',
  version: '1.0.0',
  digest: 'sha256:1',
  state: 'available',
  channel: 'production',
  move: 3,
};

function move(id: number, to?: string, channel = 'production', image = 'node'): ChannelMove {
  const target = to === undefined ? {} : { to, toDigest: `sha256:${to}` };
  return { id, image, channel, ...target, by: 'ada', why: 'release', at: '2026-01-01T00:00:00.000Z' };
}

describe('a pool holds an exact version', () => {
  test('and follows the channel that it was given', () => {
    expect(poolImage(answer, { pin: false })).toEqual({
      reference: 'node:production',
      follows: 'production',
      image: 'node',
      version: '1.0.0',
      digest: 'sha256:1',
      move: 3,
    });
  });

  test('and when pinned follows nothing, but still knows which move answered', () => {
    const pinned = poolImage(answer, { pin: true });
    expect(pinned).toMatchObject({ reference: 'node:production', move: 3 });
    expect(pinned).not.toHaveProperty('follows');
  });

  test('and given a version follows nothing', () => {
    const { channel: _, move: __, ...exact } = answer;
    expect(poolImage({ ...exact, reference: 'node:1.0.0' }, { pin: false })).not.toHaveProperty('follows');
  });
});

describe('a move of the channel', () => {
  const pool = poolImage(answer, { pin: false });

  test('changes what new nodes are made from, and nothing else', () => {
    expect(followMove(pool, move(4, '1.0.1'))).toEqual({
      ...pool,
      version: '1.0.1',
      digest: 'sha256:1.0.1',
      move: 4,
    });
  });

  test.each<[string, PoolImage, ChannelMove]>([
    ['of another channel', pool, move(4, '1.0.1', 'staging')],
    ['of another image', pool, move(4, '1.0.1', 'production', 'other')],
    ['of a pool that is pinned', poolImage(answer, { pin: true }), move(4, '1.0.1')],
    ['that came late, after a newer one', pool, move(2, '0.9.0')],
    ['that it has seen', pool, move(3, '1.0.0')],
    ['that emptied the channel', pool, move(4)],
  ])('%s does not', (_, unmoved, late) => {
    expect(followMove(unmoved, late)).toBeUndefined();
  });

  test('in whatever order and however often moves arrive, the last one counts', () => {
    const ids = fc.array(fc.integer({ min: 1, max: 30 }), { minLength: 1, maxLength: 30 });
    fc.assert(
      fc.property(ids, (order) => {
        let now: PoolImage = pool;
        for (const id of order) now = followMove(now, move(id, `1.0.${id}`)) ?? now;
        const last = Math.max(...order);
        expect(now.version).toBe(last > 3 ? `1.0.${last}` : '1.0.0');
      }),
    );
  });
});

describe('names', () => {
  test('a Windows pool leaves room in 15 characters', () => {
    expect(checkPoolName('winpool1', 'windows')).toBe('winpool1');
    expect(() => checkPoolName('winpool12', 'windows')).toThrow(
      expect.objectContaining({ code: 'name-malformed' }),
    );
    expect(checkPoolName('winpool12', 'linux')).toBe('winpool12');
    expect(() => checkPoolName('Web', 'linux')).toThrow(expect.objectContaining({ code: 'name-malformed' }));
  });
});

describe('capacity', () => {
  test.each([0, 1, 100_000])('%d is a number of nodes', (capacity) => {
    expect(checkCapacity(capacity)).toBe(capacity);
  });

  test.each([-1, 1.5, Number.NaN, Number.POSITIVE_INFINITY, 100_001])('%d is none', (capacity) => {
    expect(() => checkCapacity(capacity)).toThrow(expect.objectContaining({ code: 'input-invalid' }));
  });

  test('rule 3: what someone else set is never overwritten', () => {
    expect(capacityToRestore({ before: 3, ours: 5, now: 5 })).toBe(3);
    expect(capacityToRestore({ before: 3, ours: 5, now: 7 })).toBeUndefined();
    expect(capacityToRestore({ before: 3, ours: 5, now: 3 })).toBeUndefined();
    expect(capacityToRestore({ before: 5, ours: 5, now: 5 })).toBeUndefined();
  });
});
