// Shows that problem documents contain only what callers are allowed to see.
import { expect, test } from 'vitest';
import { problem as problemSchema } from '../../../api/schemas/common.ts';
import { ensureImagoError, ImagoError } from '../../../domain/error/imago-error.ts';
import { problemDocument, problemResponse, toPublicError } from './problem.ts';

test('an expected error is shown unchanged', () => {
  const error = new ImagoError('pool-exists', 'Pool web exists already.', { details: { pool: 'web' } });
  const document = problemDocument(toPublicError(error), 'r1');
  expect(document).toEqual({
    type: 'urn:imago:error:pool-exists',
    title: 'Pool exists.',
    status: 409,
    detail: 'Pool web exists already.',
    code: 'pool-exists',
    kind: 'conflict',
    retryable: false,
    requestId: 'r1',
    details: { pool: 'web' },
  });
  expect(problemSchema.parse(document)).toEqual(document);
});

test.each([
  ['a plain error', new Error('connect postgres://imago:s3cret@db')],
  ['a wrapped plain error', ensureImagoError(new Error('connect postgres://imago:s3cret@db'))],
  ['no error at all', 'postgres://imago:s3cret@db'],
])('%s shows neither its message nor its stack', async (_, thrown) => {
  const text = await problemResponse(toPublicError(thrown), 'r1').text();
  expect(text).not.toMatch(/s3cret|at .*\.ts/);
  expect(JSON.parse(text)).toMatchObject({ code: 'internal', status: 500, requestId: 'r1' });
});

test('headers say when to come back, which methods there are, and how to sign in', () => {
  const busy = new ImagoError('api-rate-limited', 'x', { details: { retryAfterMs: 1200 } });
  expect(problemResponse(busy, 'r').headers.get('retry-after')).toBe('2');
  const method = new ImagoError('api-method-unknown', 'x', { httpStatus: 405, details: { allow: 'GET' } });
  expect(problemResponse(method, 'r').headers.get('allow')).toBe('GET');
  const nobody = new ImagoError('api-unauthenticated', 'x', { httpStatus: 401 });
  expect(problemResponse(nobody, 'r').headers.get('www-authenticate')).toBe('Bearer realm="imago"');
});
