import { describe, expect, test } from 'vitest';
import type { Resolution } from '../resolve/resolve.ts';
import { capacityToRestore, checkPoolName, poolImage } from './pool.ts';

const answer: Resolution = {
  reference: 'node:production',
  image: 'node',
  version: '1.0.0',
  digest: 'sha256:1',
  state: 'available',
  channel: 'production',
  move: 3,
};

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
  test('rule 3: what someone else set is never overwritten', () => {
    expect(capacityToRestore({ before: 3, ours: 5, now: 5 })).toBe(3);
    expect(capacityToRestore({ before: 3, ours: 5, now: 7 })).toBeUndefined();
    expect(capacityToRestore({ before: 3, ours: 5, now: 3 })).toBeUndefined();
    expect(capacityToRestore({ before: 5, ours: 5, now: 5 })).toBeUndefined();
  });
});
