import { expect, test } from 'vitest';
import { channelLine, lineChannel } from '../channel/minor-channel.ts';
import { type Policy, policyFor, retentionDiffers, retentionFor } from './policy.ts';

test('a channel of one Kubernetes version is read from its name, and a plain one is none', () => {
  expect(lineChannel('production', '1.34.2')).toBe('production-1-34');
  expect(lineChannel('pre-production', 'v1.9')).toBe('pre-production-1-9');
  expect(channelLine('pre-production-1-34')).toEqual({ base: 'pre-production', line: '1-34' });
  for (const plain of ['production', 'canary-2', 'v1-34', '1-34']) {
    expect(channelLine(plain)?.base).not.toBe('production');
  }
  expect(channelLine('canary-2')).toBeUndefined();
});

const policy: Policy = {
  version: 1,
  channels: {
    production: { age: { in: 'staging', atLeastMs: 1 }, approvals: { count: 2, role: 'publisher' } },
    'production-1-33': { size: { atMostBytes: 1 } },
  },
  images: { gpu: { channels: { production: { scan: { noneAbove: 'low' } } } } },
};

test('no channel of a Kubernetes version is without the gates of the one whose place it takes', () => {
  expect(policyFor(policy, 'node', 'production-1-34')).toEqual({
    age: { in: 'staging-1-34', atLeastMs: 1 },
    approvals: { count: 2, role: 'publisher' },
  });
  expect(policyFor(policy, 'gpu', 'production-1-34')).toEqual({ scan: { noneAbove: 'low' } });
  expect(policyFor(policy, 'node', 'production-1-33')).toEqual({ size: { atMostBytes: 1 } });
  expect(policyFor(policy, 'node', 'staging-1-34')).toEqual({});
  expect(policyFor(undefined, 'node', 'production-1-34')).toEqual({});
});

test('the retention of an image stands in place of that of all, whole', () => {
  const kept: Policy = {
    version: 1,
    channels: {},
    retention: { keepCount: 5, keepDays: 90 },
    images: { gpu: { channels: {}, retention: { keepCount: 2 } }, web: { channels: {} } },
  };
  expect(retentionFor(kept, 'node')).toEqual({ keepCount: 5, keepDays: 90 });
  expect(retentionFor(kept, 'web')).toEqual({ keepCount: 5, keepDays: 90 });
  expect(retentionFor(kept, 'gpu')).toEqual({ keepCount: 2 });
  expect(retentionFor(policy, 'gpu')).toEqual({});
  expect([retentionDiffers(kept), retentionDiffers(policy)]).toEqual([true, false]);
});
