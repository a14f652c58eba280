import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { ChannelMove } from '../channel/channel.ts';
import type { PoolImage } from '../pool/pool.ts';
import { checkName } from '../value/name.ts';
import { nodeAnswer, nodeName } from './node.ts';

const pool: PoolImage = {
  reference: 'node:production',
  follows: 'production',
  image: 'node',
  version: '1.0.2',
  digest: 'sha256:2',
  move: 9,
};

function move(id: number, to: string, channel = 'production'): ChannelMove {
  return {
    id,
    image: 'node',
    channel,
    to,
    toDigest: 'sha256:x',
    by: 'ada',
    why: 'release',
    at: '2026-01-01T00:00:00Z',
  };
}

const moves = [
  move(2, '1.0.0'),
  move(5, '1.0.1'),
  move(6, '1.0.1', 'staging'),
  move(7, '1.0.0'),
  move(9, '1.0.2'),
];

describe('rule 6: which reference was asked for, and which move answered', () => {
  test('a node of the model', () => {
    expect(nodeAnswer({ image: 'node', version: '1.0.2' }, pool, moves)).toEqual({
      reference: 'node:production',
      channel: 'production',
      move: 9,
    });
  });

  test('a node made just before the model changed', () => {
    expect(nodeAnswer({ image: 'node', version: '1.0.1' }, pool, moves)).toEqual({
      reference: 'node:production',
      channel: 'production',
      move: 5,
    });
    expect(nodeAnswer({ image: 'node', version: '1.0.0' }, pool, moves).move).toBe(7);
  });

  test('a node of a pinned pool still knows the channel', () => {
    const { follows: _, ...pinned } = pool;
    expect(nodeAnswer({ image: 'node', version: '1.0.2' }, pinned, moves)).toEqual({
      reference: 'node:production',
      channel: 'production',
      move: 9,
    });
  });

  test('a node of a pool that was given a version', () => {
    const exact: PoolImage = { reference: 'node:1.0.2', image: 'node', version: '1.0.2', digest: 'sha256:2' };
    expect(nodeAnswer({ image: 'node', version: '1.0.2' }, exact, moves)).toEqual({
      reference: 'node:1.0.2',
    });
    expect(nodeAnswer({ image: 'node', version: '1.0.1' }, exact, moves)).toEqual({
      reference: 'node:1.0.1',
    });
  });

  test('a node that nothing explains was made from its exact version, and no channel is made up', () => {
    expect(nodeAnswer({ image: 'node', version: '0.1.0' }, pool, moves)).toEqual({ reference: 'node:0.1.0' });
    expect(nodeAnswer({ image: 'other', version: '1.0.2' }, pool, moves)).toEqual({
      reference: 'other:1.0.2',
    });
  });
});

describe('node names', () => {
  test('are the pool and a number', () => {
    expect(nodeName('web', 0)).toBe('web-000000');
    expect(nodeName('web', 10)).toBe('web-00000a');
    expect(nodeName('web', 36 ** 6 - 1)).toBe('web-zzzzzz');
    expect(() => nodeName('web', 36 ** 6)).toThrow(expect.objectContaining({ code: 'internal' }));
    expect(() => nodeName('web', -1)).toThrow();
  });

  test('of the longest pool are valid names and sort as numbers', () => {
    const index = fc.nat(36 ** 6 - 1);
    const longest = 'p'.repeat(56);
    fc.assert(
      fc.property(index, index, (a, b) => {
        expect(checkName('node', nodeName(longest, a))).toHaveLength(63);
        expect(nodeName('web', a) < nodeName('web', b)).toBe(a < b);
      }),
    );
  });
});
