// Shows who is admitted: hosts that a web page cannot forge, one key for each caller, and a bounded memory of tokens.
import { describe, expect, test } from 'vitest';
import { addressKey, checkHost, createRecentNames } from './request-guard.ts';

test.each([
  ['10.0.0.1', '10.0.0.1'],
  ['::ffff:10.0.0.1', '10.0.0.1'],
  ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
  ['2001:0db8:0001:0002::9', '2001:db8:1:2::/64'],
  ['2001:db8::1', '2001:db8:0:0::/64'],
  ['2001:db8::1:2:3:4:5', '2001:db8:0:1::/64'],
  ['::1', '0:0:0:0::/64'],
  ['fe80::1%eth0', 'fe80:0:0:0::/64'],
  ['unknown', 'unknown'],
])('%s is limited as %s', (address, key) => {
  expect(addressKey(address)).toBe(key);
});

describe('DNS rebinding: a page that resolves its own name to 127.0.0.1', () => {
  const loopback = { kind: 'tcp', remoteAddress: '127.0.0.1', localAddress: '127.0.0.1' } as const;

  test.each([
    'localhost',
    'localhost:7070',
    'LOCALHOST:1',
    '127.0.0.1:7070',
    '127.0.0.2',
    '[::1]:7070',
    '[::1]',
  ])('answers for %s on a loopback address', (host) => {
    expect(() => checkHost(loopback, host, new Set())).not.toThrow();
  });

  test.each([
    'evil.example',
    'localhost.evil.example:7070',
    '127.0.0.1.evil.example',
    '10.0.0.1',
    '',
    undefined,
    '::',
  ])('refuses %s on a loopback address', (host) => {
    expect(() => checkHost(loopback, host, new Set())).toThrow(/does not answer for the host/);
  });

  test('treats an IPv4 loopback address in IPv6 form as loopback', () => {
    const transport = { ...loopback, localAddress: '::ffff:127.0.0.1' };
    expect(() => checkHost(transport, 'evil.example', new Set())).toThrow();
  });

  test('accepts allowed names, other addresses, and the Unix socket', () => {
    expect(() => checkHost(loopback, 'imago.test:7070', new Set(['imago.test']))).not.toThrow();
    expect(() => checkHost({ ...loopback, localAddress: '10.0.0.5' }, 'imago.corp', new Set())).not.toThrow();
    expect(() => checkHost({ kind: 'socket' }, 'anything', new Set())).not.toThrow();
  });
});

test('remembers the latest names, and the used ones longer', () => {
  const recent = createRecentNames(3);
  for (const name of ['a', 'b', 'c', 'a', 'd']) recent.add(name);
  expect(['a', 'b', 'c', 'd'].map((name) => recent.has(name))).toEqual([true, false, true, true]);
});
