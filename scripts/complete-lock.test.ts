import { spawnSync } from 'node:child_process';
import { copyFileSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { missingPackages, type PackageLock } from './complete-lock.ts';

const root = resolve(import.meta.dirname, '..');
const text = readFileSync(join(root, 'package-lock.json'), 'utf8');

describe('package-lock.json', () => {
  it('is accepted by npm ci', () => {
    const folder = mkdtempSync(join(tmpdir(), 'imago-lock-'));
    try {
      for (const name of ['package.json', 'package-lock.json'])
        copyFileSync(join(root, name), join(folder, name));
      const args = ['ci', '--dry-run', '--offline', '--ignore-scripts', '--cache', join(folder, 'cache')];
      const { status, stderr } = spawnSync('npm', args, { cwd: folder, encoding: 'utf8' });
      expect(stderr).not.toContain('Missing:');
      expect(status).toBe(0);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  it('lists the packages of every platform: add them with node scripts/complete-lock.ts', () => {
    expect(missingPackages(JSON.parse(text) as PackageLock)).toEqual({});
  });

  it('names no registry, so that each machine uses its own', () => {
    expect(text).not.toContain('"resolved"');
  });
});

describe('missingPackages', () => {
  it('limits an entry to the platform in its name', () => {
    const parent = { version: '1.2.3', dev: true, optionalDependencies: { '@a/b-darwin-arm64': '1.2.3' } };
    expect(missingPackages({ packages: { 'node_modules/a': parent } })).toEqual({
      'node_modules/@a/b-darwin-arm64': {
        ...{ version: '1.2.3', cpu: ['arm64'], dev: true, optional: true, os: ['darwin'] },
      },
    });
  });

  it('adds nothing for a package that is listed, at the top or below its parent', () => {
    const parent = { optionalDependencies: { top: '1.0.0', below: '1.0.0' } };
    const packages = {
      'node_modules/a': parent,
      'node_modules/top': {},
      'node_modules/a/node_modules/below': {},
    };
    expect(missingPackages({ packages })).toEqual({});
  });
});
