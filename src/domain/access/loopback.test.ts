import { expect, test } from 'vitest';
import { isLoopbackHost } from './loopback.ts';

test.each(['localhost', 'LOCALHOST', '127.0.0.1', '127.9.8.7', '::1', '[::1]', '::ffff:127.0.0.1'])(
  '%s is loopback',
  (host) => expect(isLoopbackHost(host)).toBe(true),
);

test.each([
  '0.0.0.0',
  '::',
  '10.0.0.1',
  '128.0.0.1',
  'localhost.evil.example',
  '127.evil.example',
  '127.0.0.1.nip.io',
  '',
])('%j is not loopback', (host) => expect(isLoopbackHost(host)).toBe(false));
