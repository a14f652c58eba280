import { describe, expect, it } from 'vitest';
import type { DoctorCheck } from './check.ts';
import { defaultChecks, runDoctor } from './doctor.ts';
import { findProgram, isAtLeast, versionIn } from './probe.ts';

function check(id: string, run: DoctorCheck['run']): DoctorCheck {
  return { id, group: 'Test', title: id, run };
}

describe('the doctor', () => {
  it('reports every check in its order, and is content when nothing is missing', async () => {
    const report = await runDoctor([
      check('a', () => ({ state: 'ok', detail: 'there' })),
      check('b', async () => ({ state: 'warn', detail: 'old', fix: 'get a new one' })),
    ]);
    expect(report).toEqual({
      ok: true,
      findings: [
        { id: 'a', group: 'Test', title: 'a', state: 'ok', detail: 'there' },
        { id: 'b', group: 'Test', title: 'b', state: 'warn', detail: 'old', fix: 'get a new one' },
      ],
    });
  });

  it('is not content when something is missing', async () => {
    const report = await runDoctor([check('a', () => ({ state: 'missing', detail: 'gone', fix: 'get it' }))]);
    expect(report.ok).toBe(false);
  });

  it('continues if a check throws or hangs, aborts the hanging one, and reports both as warnings', async () => {
    let told: AbortSignal | undefined;
    const report = await runDoctor(
      [
        check('throws', () => {
          throw new Error('broken');
        }),
        check('hangs', (signal) => {
          told = signal;
          return new Promise(() => {});
        }),
        check('fine', () => ({ state: 'ok', detail: 'there' })),
      ],
      5,
    );
    expect(report.findings.map(({ state }) => state)).toEqual(['warn', 'warn', 'ok']);
    expect(told?.aborted).toBe(true);
  });

  it('checks the users of services if the daemon is root, and only then', () => {
    const users = (uid: number) =>
      defaultChecks({ env: {}, uid }).flatMap(({ id }) => (id.endsWith('.user') ? [id] : []));
    expect(users(0)).toEqual(['postgres.user', 'machines.user']);
    expect(users(1000)).toEqual([]);
  });

  it('knows each check by a name of its own', () => {
    const ids = defaultChecks({ env: {}, uid: 1000 }).map(({ id }) => id);
    expect(new Set(ids).size).toBe(ids.length);
    expect(ids).toEqual(
      expect.arrayContaining([
        'host.node',
        'host.disk',
        'postgres.programs',
        'machines.accelerator',
        'machines.memory',
      ]),
    );
  });

  it('does not look for an embedded PostgreSQL when another one is used', () => {
    const env = { IMAGO_DATABASE_URL: 'postgresql://db/imago' };
    const ids = defaultChecks({ env, uid: 0 }).map(({ id }) => id);
    expect(ids).toContain('postgres.url');
    expect(ids).not.toContain('postgres.programs');
  });
});

describe('what programs say of themselves', () => {
  it.each([
    ['mke2fs 1.47.0 (5-Feb-2023)', [1, 47, 0]],
    ['QEMU emulator version 7.2.22 (Debian 1:7.2+dfsg)', [7, 2, 22]],
    ['tar (GNU tar) 1.35', [1, 35, 0]],
  ])('is understood: %s', (text, version) => {
    expect(versionIn(text)).toEqual(version);
  });

  it('is compared number by number', () => {
    expect(isAtLeast([1, 47, 1], [1, 47, 1])).toBe(true);
    expect(isAtLeast([1, 100], [1, 47, 1])).toBe(true);
    expect(isAtLeast([1, 47], [1, 47, 1])).toBe(false);
    expect(isAtLeast([24, 0, 0], [24])).toBe(true);
  });

  it('needs a program that is there', () => {
    expect(findProgram('sh', '/bin')).toBe('/bin/sh');
    expect(findProgram('no-such-program-here', '/bin')).toBeUndefined();
  });
});
