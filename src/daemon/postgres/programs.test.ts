import { chmodSync, mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { findPackagedPrograms, reachablePrograms } from './programs.ts';

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

describe.runIf(process.getuid?.() === 0)('programs in a directory that only root can enter', () => {
  const nobody = { name: 'nobody', uid: 65_534, gid: 65_534 };
  let folder: string;
  let umask: number;

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'imago-programs-'));
    chmodSync(folder, 0o755);
    umask = process.umask(0o077);
  });
  afterEach(() => {
    process.umask(umask);
    rmSync(folder, { recursive: true });
  });

  function closedPrograms() {
    const root = join(folder, 'closed');
    mkdirSync(join(root, 'bin'), { recursive: true });
    for (const name of ['postgres', 'initdb'])
      writeFileSync(join(root, 'bin', name), '#!/bin/sh\n', { mode: 0o755 });
    const [postgres, initdb] = [join(root, 'bin/postgres'), join(root, 'bin/initdb')];
    return { root, postgres, initdb, major: 18, version: '18.0.0' };
  }

  it('are copied to a new cache that the database user can enter despite the umask of the daemon', () => {
    const cache = join(folder, 'var', 'cache', 'imago');
    const { postgres } = reachablePrograms(closedPrograms(), [cache], nobody);
    expect(postgres).toMatch(`${cache}/postgres-`);
    expect(statSync(cache).mode & 0o777).toBe(0o755);
  });

  it('are copied to the next cache if only root can enter the first one', () => {
    const [closed, open] = [join(folder, 'cache'), join(folder, 'shared')];
    mkdirSync(closed);
    const { postgres } = reachablePrograms(closedPrograms(), [closed, open], nobody);
    expect(postgres).toMatch(`${open}/postgres-`);
    expect(statSync(closed).mode & 0o777).toBe(0o700);
  });

  it('are refused with the way out if only root can enter any cache', () => {
    const cache = join(folder, 'cache');
    mkdirSync(cache);
    expect(() => reachablePrograms(closedPrograms(), [cache], nobody)).toThrow(
      expect.objectContaining({
        code: 'postgres-unreachable',
        hint: expect.stringContaining(`Let all users enter ${cache}`),
      }),
    );
    expect(statSync(cache).mode & 0o777).toBe(0o700);
  });
});
