import { describe, expect, it } from 'vitest';
import { asLost, createEnginePool } from './pool.ts';

describe('an error on DBOS’s connections', () => {
  it.each([
    Object.assign(new Error('write EPIPE'), { code: 'EPIPE' }),
    Object.assign(new Error('connect ENOENT /run/x/.s.PGSQL.5432'), { code: 'ENOENT' }),
    Object.assign(new Error('getaddrinfo ENOTFOUND db'), { code: 'ENOTFOUND' }),
    new Error('Connection terminated unexpectedly'),
    new Error('Client was closed and is not queryable'),
    new Error('timeout expired'),
  ])('that tells of a lost connection is one after which DBOS asks again: %s', (error) => {
    expect(asLost(error)).toMatchObject({ code: 'ECONNRESET', message: error.message });
  });

  it.each([
    Object.assign(new Error('duplicate key'), { code: '23505' }),
    Object.assign(new Error('terminating connection due to administrator command'), { code: '57P01' }),
    new Error('something else'),
    'no error at all',
  ])('that tells of anything else stays what it is: %s', (error) => {
    const before = { ...(error as object) };
    expect(asLost(error)).toBe(error);
    expect({ ...(error as object) }).toEqual(before);
  });

  it('reports a lost connection if nothing listens at the address', async () => {
    const pool = createEnginePool(
      `postgresql://x@localhost/x?host=${encodeURIComponent('/nowhere')}`,
      1,
      () => undefined,
    );
    await expect(pool.query('select 1')).rejects.toMatchObject({ code: 'ECONNRESET' });
    await pool.end();
  });
});
