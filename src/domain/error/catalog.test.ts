import { describe, expect, test } from 'vitest';
import { errorCatalog } from './catalog.ts';
import { ensureImagoError, errorFromRecord, errorKinds, ImagoError } from './imago-error.ts';

test.each(Object.entries(errorCatalog))('%s is a code, and its hint reads well', (code, { hint }) => {
  expect(code).toMatch(/^[a-z][a-z0-9]*(-[a-z0-9]+)*$/);
  if (hint !== undefined) expect(hint).toMatch(/^\S.*\.$/s);
});

test('exit codes are those of the command line’s contract', () => {
  const codes = Object.fromEntries(
    Object.entries(errorKinds).map(([kind, { exitCode }]) => [kind, exitCode]),
  );
  expect(codes).toEqual({
    failed: 1,
    input: 2,
    'not-found': 3,
    conflict: 4,
    refused: 4,
    provider: 5,
    quota: 5,
    timeout: 5,
    bug: 70,
    cancelled: 130,
  });
});

describe('an error survives its record', () => {
  test('with all that the record holds', () => {
    const error = new ImagoError('provider-throttled', 'Slow down.', {
      hint: 'Wait.',
      retryable: false,
      details: { retryAfterMs: 5 },
    });
    expect(errorFromRecord(error.toRecord()).toRecord()).toEqual(error.toRecord());
  });

  test('and a code that this version does not know becomes our bug, not a crash', () => {
    const record = { ...new ImagoError('internal', 'x').toRecord(), code: 'from-the-future' };
    expect(errorFromRecord(record)).toMatchObject({ code: 'internal', message: 'x' });
    expect(errorFromRecord({ ...record, code: 'constructor' }).code).toBe('internal');
  });
});

test('whatever was thrown becomes an error of ours, with its cause', () => {
  const thrown = new TypeError('x is not a function');
  expect(ensureImagoError(thrown)).toMatchObject({ code: 'internal', exitCode: 70, cause: thrown });
  expect(ensureImagoError('text').message).toBe('text');
  const ours = new ImagoError('cancelled', 'Stopped.');
  expect(ensureImagoError(ours)).toBe(ours);
});
