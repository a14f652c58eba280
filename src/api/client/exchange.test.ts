// Connection errors are classified by the system's codes.
import { expect, test } from 'vitest';
import { connectionError } from './exchange.ts';

test.each([
  ['ENOENT', 'daemon-not-running'],
  ['ECONNREFUSED', 'daemon-not-running'],
  ['ENOTFOUND', 'daemon-not-running'],
  ['EACCES', 'daemon-not-running'],
  ['ECONNRESET', 'daemon-connection-lost'],
  ['EPIPE', 'daemon-connection-lost'],
  ['DEPTH_ZERO_SELF_SIGNED_CERT', 'daemon-answer-invalid'],
  ['CERT_HAS_EXPIRED', 'daemon-answer-invalid'],
  ['ERR_TLS_CERT_ALTNAME_INVALID', 'daemon-answer-invalid'],
])('%s is %s', (code, wanted) => {
  const error = connectionError(Object.assign(new Error('x'), { code }), '/run/s');
  expect(error.code).toBe(wanted);
  expect(error.message).toContain('/run/s');
});

test('a caller that may not use the socket gets the name of its owner', () => {
  const error = connectionError(Object.assign(new Error('x'), { code: 'EACCES' }), '/run/s');
  expect(error.hint).toMatch(/another user/);
});
