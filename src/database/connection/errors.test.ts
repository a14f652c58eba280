import { describe, expect, test } from 'vitest';
import { ImagoError } from '../../domain/error/imago-error.ts';
import { asStoreError, isConnectionLoss, sqlState } from './errors.ts';

function thrown(code: string | undefined, message = 'what the server said'): Error {
  return Object.assign(new Error(message), code === undefined ? {} : { code });
}

describe('what PostgreSQL and its driver throw, in our words', () => {
  test.each([
    ['08006', 'database-unreachable', true],
    ['57P01', 'database-unreachable', true],
    ['57P03', 'database-unreachable', true],
    ['25P03', 'database-unreachable', true],
    ['ECONNREFUSED', 'database-unreachable', true],
    ['ECONNRESET', 'database-unreachable', true],
    ['ENOENT', 'database-unreachable', true],
    ['EPIPE', 'database-unreachable', true],
    ['53300', 'database-busy', true],
    ['55P03', 'database-busy', true],
    ['57014', 'database-busy', true],
    ['40P01', 'database-busy', true],
    ['53100', 'database-full', false],
    ['58030', 'database-failed', true],
    ['XX001', 'database-failed', true],
    ['25006', 'database-readonly', true],
    ['28P01', 'database-refused', false],
    ['3D000', 'database-refused', false],
    ['42501', 'database-refused', false],
    ['22021', 'input-invalid', false],
    ['42P01', 'database-version', false],
    ['IM001', 'owner-stale', false],
    ['IM002', 'internal', false],
    ['23505', 'internal', false],
  ])('%s is %s, retryable: %s', (state, code, retryable) => {
    const error = asStoreError(thrown(state));
    expect(error).toMatchObject({ code, retryable, cause: { code: state } });
    expect(error.message).toContain('what the server said');
    expect(sqlState(error)).toBe(state);
  });

  test.each([
    'Connection terminated unexpectedly',
    'Connection terminated due to connection timeout',
    'timeout exceeded when trying to connect',
    'Client has encountered a connection error and is not queryable',
    'Query read timeout',
  ])('the driver has no code for: %s', (message) => {
    expect(isConnectionLoss(asStoreError(thrown(undefined, message)))).toBe(true);
  });

  test('a full disk is recognized by its message, regardless of the code', () => {
    const message = 'could not extend file "base/5/1": No space left on device';
    for (const state of ['XX000', '58030', undefined]) {
      expect(asStoreError(thrown(state, message)).code).toBe('database-full');
    }
  });

  test('an error of ours passes through', () => {
    const own = new ImagoError('channel-moved', 'moved');
    expect(asStoreError(own)).toBe(own);
    expect(isConnectionLoss(own)).toBe(false);
  });
});
