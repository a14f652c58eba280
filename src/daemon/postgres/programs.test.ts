import { describe, expect, it } from 'vitest';
import { findPackagedPrograms } from './programs.ts';

describe("PostgreSQL's programs", () => {
  it('are found where npm put them, with the major version that they can read', () => {
    const programs = findPackagedPrograms();
    expect(programs?.postgres).toMatch(/\/native\/bin\/postgres$/);
    expect(programs?.major).toBeGreaterThanOrEqual(18);
  });

  it('are simply not there for a machine of another kind', () => {
    expect(findPackagedPrograms('plan9', 'vax')).toBeUndefined();
  });
});
