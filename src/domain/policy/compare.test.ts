import { describe, expect, test } from 'vitest';
import { comparePolicies as compare } from './compare.ts';
import type { Policy } from './policy.ts';

const approvals = { count: 2, role: 'publisher' } as const;
const gated: Policy = { version: 1, channels: { production: { approvals, nodeConfig: true } } };
const channels = ['node', 'web'].flatMap((image) => [
  { image, name: 'staging', forTesting: true, managed: false },
  { image, name: 'production', forTesting: false, managed: false },
  { image, name: 'production-1-34', forTesting: false, managed: false },
  { image, name: 'latest', forTesting: false, managed: true },
]);

const now = Date.parse('2026-11-16T12:00:00Z');
const comparePolicies = (before: Policy | undefined, after: Policy, known: typeof channels) =>
  compare(before, after, known, now);

describe('comparePolicies', () => {
  test('a misspelled channel name is a risk, and so are the gates that production loses by it', () => {
    const typo: Policy = { version: 1, channels: { prodution: { approvals, nodeConfig: true } } };
    expect(comparePolicies(gated, typo, channels).risks).toEqual([
      'Channel production loses the gate approvals: node, web.',
      'Channel production loses the gate nodeConfig: node, web.',
      'Channel production-1-34 loses the gate approvals: node, web.',
      'Channel production-1-34 loses the gate nodeConfig: node, web.',
      'The images have no channel prodution. Did you mean production?',
    ]);
    expect(comparePolicies(undefined, typo, channels).risks).toEqual([
      'The images have no channel prodution. Did you mean production?',
    ]);
  });

  test('a testing channel that loses gates is shown and not a risk', () => {
    const before: Policy = { version: 1, channels: { staging: { approvals } } };
    expect(comparePolicies(before, { version: 1, channels: {} }, channels)).toEqual({
      lines: ['Channel staging loses the gate approvals: node, web.'],
      risks: [],
    });
  });

  test('an exception for one image can lose gates too', () => {
    const after: Policy = { ...gated, images: { web: { channels: { production: { approvals } } } } };
    expect(comparePolicies(gated, after, channels).risks).toEqual([
      'Channel production loses the gate nodeConfig: web.',
      'Channel production-1-34 loses the gate nodeConfig: web.',
    ]);
  });

  test('gained and changed gates are shown, and an unknown name without a similar one is not a risk', () => {
    const after: Policy = {
      version: 1,
      channels: { production: { approvals: { ...approvals, count: 3 }, nodeConfig: true }, edge: {} },
    };
    expect(comparePolicies(gated, after, channels.slice(0, 2))).toEqual({
      lines: ['The images have no channel edge.', 'Channel production changes the gate approvals: node.'],
      risks: [],
    });
    expect(comparePolicies(undefined, gated, []).lines).toEqual([]);
  });

  test('a weaker gate of a channel that is not for testing is a risk', () => {
    const weaker = { ...approvals, count: 1, requester: true };
    const after: Policy = { version: 1, channels: { production: { approvals: weaker, nodeConfig: true } } };
    expect(comparePolicies(gated, after, channels.slice(0, 2)).risks).toEqual([
      'Channel production weakens the gate approvals (count, requester): node.',
    ]);
    const testing = (count: number): Policy => ({
      version: 1,
      channels: { staging: { approvals: { ...approvals, count } } },
    });
    expect(comparePolicies(testing(2), testing(1), channels)).toEqual({
      lines: ['Channel staging weakens the gate approvals (count): node, web.'],
      risks: [],
    });
  });
});
