import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { policyGateNames } from '../../../domain/gate/policy-gates.ts';
import { readPolicy } from './read-policy.ts';

const example = join(import.meta.dirname, '../../../../examples/policy/policy.yaml');

test('the example is a policy with every gate that needs no key', () => {
  const { policy } = readPolicy(readFileSync(example, 'utf8'), 'policy.yaml');
  expect(Object.keys(policy.channels.production ?? {}).sort()).toEqual(
    policyGateNames.filter((name) => name !== 'signed').sort(),
  );
});

test('comments and order do not change its digest; what it says does', () => {
  const one = readPolicy('version: 1\nchannels: {p: {approvals: {count: 1, role: admin}}}');
  const same = readPolicy('# hello\nchannels: {p: {approvals: {role: admin, count: 1}}}\nversion: 1');
  const other = readPolicy('version: 1\nchannels: {p: {approvals: {count: 2, role: admin}}}');
  expect(same.digest).toBe(one.digest);
  expect(other.digest).not.toBe(one.digest);
});

test.each([
  ['version: 1\nchannels: {p: {sacn: {noneAbove: low}}}', '2:16', 'Did you mean `scan`?'],
  ['version: 1\nchannels: {p: {scan: {noneAbove: hihg}}}', '2:23', 'Did you mean `high`?'],
  ['version: 1\nchannels: {p: {age: {atLeast: 1 day}}}', '2:22', 'Write it like 90s, 1h30m or 7d.'],
  ['version: 1\nchannels: {p: {approvals: {count: 0}}}', '2:28', undefined],
  ['version: 1\nchannels: {p: {size: {}}}', '2:16', undefined],
  ['version: 1\nchannels: {p: {size: {growth: ten}}}', '2:23', undefined],
  ['version: 2', '1:1', undefined],
  ['channels: {}', '1:1', undefined],
  ['a: [', '1:', undefined],
  ['version: 1\nversion: 1', '2:1', undefined],
])('%j is refused at its place', (text, place, hint) => {
  const thrown = (() => {
    try {
      readPolicy(text, 'policy.yaml');
    } catch (error) {
      return error as { code: string; message: string; hint?: string };
    }
    return undefined;
  })();
  expect(thrown?.code).toBe('policy-invalid');
  expect(thrown?.message).toContain(`policy.yaml:${place}`);
  if (hint !== undefined) expect(thrown?.hint).toBe(hint);
});

test('a freeze with a time zone that does not exist, or that ends before it starts, is refused', () => {
  const freeze = (window: string) => `version: 1\nchannels: {p: {freeze: [${window}]}}`;
  expect(() => readPolicy(freeze('{from: 2026-12-01, to: 2026-12-02, timeZone: Mars/Base, why: x}'))).toThrow(
    'is not a time zone',
  );
  expect(() => readPolicy(freeze('{from: 2026-12-02, to: 2026-12-01, why: x}'))).toThrow(
    'ends before it starts',
  );
  expect(() => readPolicy(freeze('{days: [fri], from: "25:00", to: "10:00", why: x}'))).toThrow(
    'time of day',
  );
});
