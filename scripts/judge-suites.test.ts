// The judge of ./check: what is left out is told, and in CI it counts as failed unless it is named.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { allowedSkips, excuse, formatVerdicts, judgeSuite, type SuiteRun } from './judge-suites.ts';
import type { TestReport } from './test-report.ts';

const root = resolve(import.meta.dirname, '..');
const ran: SuiteRun = { name: 'unit', seconds: 1, exitCode: 0, tests: { ran: 3, skipped: [], failed: [] } };
const left = (name: string, why?: string): SuiteRun => ({
  ...ran,
  tests: {
    ran: 2,
    skipped: [{ file: 'test/a.test.ts', name, ...(why === undefined ? {} : { why }) }],
    failed: [],
  },
});

describe('a suite', () => {
  it.each([true, false])('passes when all of it ran (CI: %s)', (ci) => {
    expect(judgeSuite(ran, ci)).toMatchObject({ state: 'passed', why: [] });
  });

  it('that left out a test passes on a person’s machine, which is told of it, and fails in CI', () => {
    const one = left('a > b', 'no newuidmap here');
    const why = ['1 of its tests was left out', 'skipped test/a.test.ts > a > b: no newuidmap here'];
    expect(judgeSuite(one, false)).toMatchObject({ state: 'passed', why });
    expect(judgeSuite(one, true)).toMatchObject({ state: 'failed', why });
    expect(judgeSuite(left('a'), true).why.join()).toContain('by a condition of its own');
  });

  it.each([true, false])('fails if what it needs could not be prepared (CI: %s)', (ci) => {
    const why = 'preparing kubernetes failed: no compiler';
    expect(judgeSuite({ name: 'e2e', seconds: 0, unprepared: why }, ci)).toMatchObject({
      state: 'failed',
      why: [why],
    });
  });

  it('passes in CI without what is for --soak, and without what is named', () => {
    expect(judgeSuite(left('every death (soak)'), true)).toMatchObject({
      state: 'passed',
      why: expect.arrayContaining([expect.stringContaining('with --soak only')]),
    });
    for (const test of allowedSkips) {
      expect(judgeSuite({ ...ran, tests: { ran: 1, skipped: [test], failed: [] } }, true).state).toBe(
        'passed',
      );
      expect(excuse({ ...test, file: 'test/other.test.ts' })).toBeUndefined();
    }
  });

  it('fails by its exit code, whatever it left out, and when it does not tell what that was', () => {
    expect(judgeSuite({ ...ran, exitCode: 1 }, false)).toMatchObject({
      state: 'failed',
      why: ['exit code 1'],
    });
    expect(judgeSuite({ ...ran, tests: 'unknown' }, false)).toMatchObject({ state: 'failed' });
  });

  it('that this machine cannot run is skipped, and in CI has failed', () => {
    const lacking: SuiteRun = { name: 'e2e', seconds: 0, lacks: 'no QEMU' };
    expect(judgeSuite(lacking, false)).toMatchObject({ state: 'skipped', why: ['no QEMU'] });
    expect(judgeSuite(lacking, true)).toMatchObject({ state: 'failed', why: ['no QEMU'] });
  });

  it('whose service outside does not answer is skipped, in CI too, and the table says why', () => {
    const silent: SuiteRun = { name: 'advisories', seconds: 0, lacks: 'no answer', outside: true };
    expect(judgeSuite(silent, true)).toMatchObject({ state: 'skipped', why: ['no answer'] });
    const found: SuiteRun = { name: 'advisories', seconds: 1, exitCode: 1, outside: true };
    expect(judgeSuite(found, true)).toMatchObject({ state: 'failed' });
  });

  it('has a line for every reason', () => {
    const text = formatVerdicts([judgeSuite(left('a > b', 'no mounts'), true)], true);
    expect(text).toEqual([
      'suite          result   seconds  why',
      'unit           failed       1.0  1 of its tests was left out',
      '                                 skipped test/a.test.ts > a > b: no mounts',
      '',
      '0 passed, 1 failed, 0 skipped',
      'In CI what is skipped counts as failed.',
    ]);
  });
});

describe('a run of Vitest', () => {
  let folder: string;
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'imago-judge-'));
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  it('tells every test that it left out or that failed, with the reason', () => {
    const tests = [
      "it('runs', () => {})",
      "describe.runIf(false)('never', () => it('inside', () => {}))",
      "it.skipIf(true)('skipped', () => {})",
      "it('asks', ({ skip }) => skip('this machine has no disk'))",
      "it.todo('later')",
      "it('fails', () => { throw new Error('first line\\nsecond line') })",
      "describe('a group', () => { beforeAll(() => { throw new Error('not prepared') }); it('of it', () => {}) })",
    ];
    writeFileSync(join(folder, 'some.test.js'), tests.join('\n'));
    const told = join(folder, 'skipped.json');
    const config = [
      `import { testReporter } from ${JSON.stringify(join(root, 'scripts/test-report.ts'))};`,
      `const reporters = [testReporter(${JSON.stringify(told)})];`,
      'export default { test: { globals: true, reporters } };',
    ];
    writeFileSync(join(folder, 'vitest.config.js'), config.join('\n'));
    const { status, stdout, stderr } = spawnSync(
      process.execPath,
      [join(root, 'node_modules/vitest/vitest.mjs'), 'run', '--root', folder],
      { cwd: folder, encoding: 'utf8' },
    );
    expect({ status, said: `${stdout}${stderr}` }).toMatchObject({ status: 1 });
    const report = JSON.parse(readFileSync(told, 'utf8')) as TestReport;
    expect(report).toEqual({
      ran: 2,
      skipped: [
        { file: 'some.test.js', name: 'never > inside' },
        { file: 'some.test.js', name: 'skipped' },
        { file: 'some.test.js', name: 'asks', why: 'this machine has no disk' },
        { file: 'some.test.js', name: 'later' },
        { file: 'some.test.js', name: 'a group > of it' },
      ],
      failed: [
        { file: 'some.test.js', name: 'a group', why: ['not prepared'] },
        { file: 'some.test.js', name: 'fails', why: ['first line', 'second line'] },
      ],
    });
    expect(judgeSuite({ ...ran, tests: report }, true)).toMatchObject({ state: 'failed' });
    expect(judgeSuite({ ...ran, tests: report, exitCode: 1 }, true).why).toEqual(
      expect.arrayContaining(['failed some.test.js > fails', '  first line', '  second line']),
    );
  }, 60_000);
});
