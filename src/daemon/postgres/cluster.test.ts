import { mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type StatePaths, statePaths } from '../../launcher/paths.ts';
import { databasePassword, hasCluster } from './cluster.ts';

let paths: StatePaths;
beforeEach(() => {
  paths = statePaths(mkdtempSync(join(tmpdir(), 'imago-cluster-')));
  mkdirSync(paths.postgres);
});
afterEach(() => rmSync(paths.home, { recursive: true }));

describe('the database folder', () => {
  it('counts only when it is complete', () => {
    expect(hasCluster(paths, { major: 18 })).toBe(false);
    mkdirSync(paths.postgresData);
    expect(hasCluster(paths, { major: 18 })).toBe(false);
    writeFileSync(join(paths.postgresData, 'PG_VERSION'), '18\n');
    expect(hasCluster(paths, { major: 18 })).toBe(true);
  });

  it('is not created in a directory with other files', () => {
    mkdirSync(paths.postgresData);
    writeFileSync(join(paths.postgresData, 'thesis.tex'), '');
    expect(() => hasCluster(paths, { major: 18 })).toThrow(/contains files, but no database/);
  });

  it('of another major version is refused, and the way over is named', () => {
    mkdirSync(paths.postgresData);
    writeFileSync(join(paths.postgresData, 'PG_VERSION'), '17\n');
    expect(() => hasCluster(paths, { major: 18 })).toThrow(
      expect.objectContaining({ code: 'postgres-version', hint: expect.stringContaining('imago backup') }),
    );
  });
});

describe("the database's password", () => {
  it('is made once, for the owner alone', () => {
    const password = databasePassword(paths);
    expect(password).toMatch(/^[\w-]{32}$/);
    expect(databasePassword(paths)).toBe(password);
    expect(statSync(paths.postgresPassword).mode & 0o777).toBe(0o600);
  });

  it('is not replaced if the database has another', () => {
    mkdirSync(paths.postgresData);
    writeFileSync(join(paths.postgresData, 'PG_VERSION'), '18\n');
    expect(() => databasePassword(paths)).toThrow(expect.objectContaining({ code: 'postgres-failed' }));
  });
});
