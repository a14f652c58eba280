// Keys: what is the same request, and which operation belongs to it.
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { fingerprintOf, operationIdOf, readKey } from './idempotency.ts';

test('requests that differ in method, address or body never share a fingerprint', () => {
  const request = fc.tuple(fc.string(), fc.string(), fc.string());
  fc.assert(
    fc.property(request, request, (a, b) => {
      expect(fingerprintOf(...a) === fingerprintOf(...b)).toBe(JSON.stringify(a) === JSON.stringify(b));
    }),
  );
});

test('the id of an operation belongs to one caller and one key', () => {
  expect(operationIdOf('ann', 'k')).toBe(operationIdOf('ann', 'k'));
  expect(operationIdOf('ann', 'k')).not.toBe(operationIdOf('bob', 'k'));
  expect(operationIdOf('ann', 'k')).toMatch(
    /^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-8[0-9a-f]{3}-[0-9a-f]{12}$/,
  );
});

test('a key must be printable and of a sensible length', () => {
  const of = (key: string) => readKey(new Request('http://x', { headers: { 'idempotency-key': key } }));
  expect(of('a-1')).toBe('a-1');
  expect(readKey(new Request('http://x'))).toBeUndefined();
  expect(() => of('a b')).toThrow(/idempotency key/);
  expect(() => of('x'.repeat(201))).toThrow(/idempotency key/);
});
