import { describe, expect, it } from 'vitest';
import { explainPostgresOutput, isTransient } from './failure.ts';

const stamp = '2026-11-15 22:00:00.000 UTC [17]';

describe('the output of PostgreSQL', () => {
  it.each([
    [
      'a full disk',
      `${stamp} FATAL:  could not write lock file "postmaster.pid": No space left on device`,
      'no-space',
    ],
    ['a quota', `${stamp} PANIC:  could not write to file "pg_wal/x": Disk quota exceeded`, 'no-space'],
    [
      'a closed folder',
      'initdb: error: could not access directory "/x": Permission denied',
      'postgres-unreachable',
    ],
    ['another server', `${stamp} FATAL:  lock file "postmaster.pid" already exists`, 'postgres-foreign'],
    [
      'too little memory',
      `${stamp} FATAL:  could not map anonymous shared memory: Cannot allocate memory`,
      'postgres-failed',
    ],
    [
      'something new',
      `${stamp} FATAL:  configuration file "postgresql.conf" contains errors`,
      'postgres-failed',
    ],
    ['nothing at all', '', 'postgres-failed'],
  ])('%s', (_, output, code) => {
    const error = explainPostgresOutput(output, 'PostgreSQL did not start');
    expect(error.code).toBe(code);
    expect(error.message).toMatch(/^PostgreSQL did not start: ./);
  });

  it('are repeated in the message when we do not know better', () => {
    const output = `${stamp} LOG:  starting\n${stamp} FATAL:  the moon is full\n${stamp} HINT:  wait\n`;
    expect(explainPostgresOutput(output, 'x').message).toContain('the moon is full');
    expect(explainPostgresOutput(output, 'x').message).not.toContain('LOG:  starting');
  });

  it('call for another try only while a killed server is still ending', () => {
    expect(
      isTransient(`${stamp} FATAL:  pre-existing shared memory block (key 1, ID 2) is still in use`),
    ).toBe(true);
    expect(isTransient(`${stamp} FATAL:  lock file "postmaster.pid" already exists`)).toBe(true);
    expect(isTransient(`${stamp} FATAL:  could not write: No space left on device`)).toBe(false);
  });
});
