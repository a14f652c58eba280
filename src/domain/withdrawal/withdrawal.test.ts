import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type ChannelMove, fitToReturn, type ReturnTarget } from '../channel/channel.ts';
import { channelFallback, isInForce, standingWithdrawal } from './withdrawal.ts';

const withdrawal = fc.record({
  id: fc.integer({ min: 1, max: 1000 }),
  cause: fc.option(fc.integer({ min: 1, max: 9 }), { nil: undefined }),
  day: fc.integer({ min: 1, max: 28 }),
  applied: fc.boolean(),
  lifted: fc.boolean(),
});

function built({
  id,
  cause,
  day,
  applied,
  lifted,
}: typeof withdrawal extends fc.Arbitrary<infer T> ? T : never) {
  const at = `2026-01-${String(day).padStart(2, '0')}T00:00:00.000Z`;
  return {
    id,
    ...(cause === undefined ? {} : { cause }),
    effectiveAt: at,
    ...(applied ? { appliedAt: at } : {}),
    ...(lifted ? { liftedAt: at } : {}),
  };
}

test('of all that are in force, one that was asked for beats one that was inherited, and the earliest wins', () => {
  fc.assert(
    fc.property(fc.array(withdrawal, { maxLength: 8 }), (made) => {
      const all = made.map(built);
      const standing = standingWithdrawal(all);
      const inForce = all.filter(isInForce);
      expect(standing === undefined).toBe(inForce.length === 0);
      if (standing === undefined) return;
      const asked = inForce.filter(({ cause }) => cause === undefined);
      if (asked.length > 0) expect(standing.cause).toBeUndefined();
      for (const other of asked.length > 0 ? asked : inForce) {
        expect(standing.effectiveAt <= other.effectiveAt).toBe(true);
      }
    }),
  );
});

describe('where a channel goes', () => {
  const channel = { image: 'node', name: 'production' };
  const moves = (...versions: string[]): ChannelMove[] =>
    versions.map((to, id) => ({
      ...{ id, image: 'node', channel: 'production', to, toDigest: `sha256:${to}`, by: 'a', why: 'w' },
      at: '2026-01-01T00:00:00.000Z',
    }));

  test('to the nearest earlier version that is good', () => {
    const log = moves('1.0.0', '1.0.1', '1.0.2', '1.0.3');
    expect(
      channelFallback(channel, '1.0.3', log, (version) => (version === '1.0.2' ? undefined : 'good')),
    ).toEqual({
      ...{ image: 'node', channel: 'production', from: '1.0.3', to: '1.0.1' },
    });
  });

  test('to nothing if none is good, and never to where it points', () => {
    const empty = { image: 'node', channel: 'production' };
    expect(channelFallback(channel, '1.0.1', moves('1.0.0', '1.0.1'), () => undefined)).toEqual({
      ...{ ...empty, from: '1.0.1' },
    });
    expect(channelFallback(channel, '1.0.0', moves('1.0.0'), () => 'good')).toEqual({
      ...{ ...empty, from: '1.0.0' },
    });
  });

  test('to one whose support has ended only when nothing else is left, and never to one that failed its test', () => {
    const log = moves('1.0.0', '1.0.1', '1.0.2', '1.0.3');
    const to = (versions: Readonly<Record<string, ReturnTarget>>) =>
      channelFallback(channel, '1.0.3', log, (version) => {
        const target = versions[version];
        return target && fitToReturn({ forTesting: false, public: false }, target);
      }).to;
    const [available, deprecated] = [{ state: 'available' }, { state: 'deprecated' }] as const;
    expect(to({ '1.0.0': available, '1.0.1': deprecated, '1.0.2': deprecated })).toBe('1.0.0');
    expect(to({ '1.0.0': deprecated, '1.0.1': deprecated })).toBe('1.0.1');
    const failed = { ...available, testFailed: true };
    expect(to({ '1.0.0': deprecated, '1.0.1': failed, '1.0.2': failed })).toBe('1.0.0');
    expect(to({ '1.0.2': failed, '1.0.1': { ...deprecated, testFailed: true } })).toBeUndefined();
  });
});
