// What the runs of suites amount to. In CI nothing may be left out without being named here: neither a whole suite
// nor a single test of it.
import type { FailedTest, SkippedTest, TestReport } from './test-report.ts';

export interface SuiteRun {
  readonly name: string;
  readonly seconds: number;
  /** What this machine lacks: the suite was not started. */
  readonly lacks?: string;
  /** What it lacks is a service outside of this project, which CI cannot be held to. */
  readonly outside?: boolean;
  /** Why what it needs could not be prepared: the suite was not started. */
  readonly unprepared?: string;
  readonly exitCode?: number;
  /** `unknown`: its tests are counted, and it did not say which of them it left out. */
  readonly tests?: TestReport | 'unknown';
}

export interface SuiteVerdict {
  readonly name: string;
  readonly state: 'passed' | 'failed' | 'skipped';
  readonly seconds: number;
  /** A line each. */
  readonly why: readonly string[];
}

/** Tests that may be left out everywhere, each with its reason. Those of `--soak` say so in their names. */
export const allowedSkips: readonly (SkippedTest & { readonly why: string })[] = [
  {
    file: 'test/e2e/catalogue-browser.test.ts',
    name: 'in a browser > pictures for the docs',
    why: 'makes pictures, with IMAGO_SCREENSHOTS only',
  },
];

const nothing: Pick<TestReport, 'skipped' | 'failed'> = { skipped: [], failed: [] };
const soakMark = /\(soak\)/;

/** Why the test may be left out; `undefined` when it may not. */
export function excuse({ file, name }: SkippedTest): string | undefined {
  if (soakMark.test(name)) return 'with --soak only';
  return allowedSkips.find((one) => one.file === file && one.name === name)?.why;
}

export function judgeSuite(run: SuiteRun, ci: boolean): SuiteVerdict {
  const { name, seconds, lacks, outside = false, unprepared, exitCode, tests } = run;
  if (unprepared !== undefined) return { name, seconds, state: 'failed', why: [unprepared] };
  if (lacks !== undefined) {
    return { name, seconds, state: ci && !outside ? 'failed' : 'skipped', why: [lacks] };
  }
  const { skipped, failed } = tests === undefined || tests === 'unknown' ? nothing : tests;
  const count = `${skipped.length} of its tests ${skipped.length === 1 ? 'was' : 'were'} left out`;
  const told = skipped.length === 0 ? [] : [count, ...skipped.map(describe)];
  if (exitCode !== 0) {
    const why = [`exit code ${exitCode}`, ...failed.flatMap(describeFailed), ...told];
    return { name, seconds, state: 'failed', why };
  }
  if (tests === 'unknown')
    return { name, seconds, state: 'failed', why: ['it did not say which tests it left out'] };
  const isWhole = skipped.every((test) => excuse(test) !== undefined);
  return { name, seconds, state: ci && !isWhole ? 'failed' : 'passed', why: told };
}

function describe(test: SkippedTest): string {
  const reason = excuse(test) ?? test.why ?? 'by a condition of its own';
  return `skipped ${test.file} > ${test.name}: ${reason}`;
}

function describeFailed({ file, name, why }: FailedTest): readonly string[] {
  return [`failed ${file}${name === '' ? '' : ` > ${name}`}`, ...why.map((line) => `  ${line}`)];
}

/** The lines that ./check ends with. */
export function formatVerdicts(verdicts: readonly SuiteVerdict[], ci: boolean): readonly string[] {
  const count = (state: SuiteVerdict['state']) =>
    verdicts.filter((verdict) => verdict.state === state).length;
  const rows = verdicts.flatMap(({ name, state, seconds, why }) => {
    const [first = '', ...more] = why;
    const head = `${name.padEnd(14)} ${state.padEnd(8)} ${seconds.toFixed(1).padStart(7)}`;
    return [
      `${head}  ${first}`.trimEnd(),
      ...more.map((line) => `${' '.repeat(head.length)}  ${line}`.trimEnd()),
    ];
  });
  return [
    `${'suite'.padEnd(14)} ${'result'.padEnd(8)} seconds  why`,
    ...rows,
    '',
    `${count('passed')} passed, ${count('failed')} failed, ${count('skipped')} skipped`,
    ...(ci && count('failed') > 0 ? ['In CI what is skipped counts as failed.'] : []),
  ];
}
