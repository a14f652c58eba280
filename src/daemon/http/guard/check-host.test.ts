// DNS rebinding: a page that points its own name at 127.0.0.1 must not get an answer.
import { expect, test } from 'vitest';
import { checkHost } from './check-host.ts';

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

test('an IPv4 loopback address that came by IPv6 is one too', () => {
  const transport = { ...loopback, localAddress: '::ffff:127.0.0.1' };
  expect(() => checkHost(transport, 'evil.example', new Set())).toThrow();
});

test('names that were allowed, other addresses and the Unix socket are not refused', () => {
  expect(() => checkHost(loopback, 'imago.test:7070', new Set(['imago.test']))).not.toThrow();
  expect(() => checkHost({ ...loopback, localAddress: '10.0.0.5' }, 'imago.corp', new Set())).not.toThrow();
  expect(() => checkHost({ kind: 'socket' }, 'anything', new Set())).not.toThrow();
});
