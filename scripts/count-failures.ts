// Summarizes repeated runs of a suite: which tests failed, how often, and with which seeds.
import type { FailedTest } from './test-report.ts';

export interface Repetition {
  readonly seed: number;
  readonly loaded: boolean;
  readonly code: number;
  readonly failed: readonly FailedTest[];
}

/** Returns the lines of the summary, the most frequent failure first. */
export function countFailures(repetitions: readonly Repetition[]): readonly string[] {
  const failures = repetitions.flatMap(({ failed, ...run }) => failed.map((test) => ({ ...run, test })));
  const byTest = Map.groupBy(failures, ({ test }) => `${test.file} > ${test.name}`);
  const lines = [...byTest]
    .toSorted(([, a], [, b]) => b.length - a.length)
    .flatMap(([name, times]) => [
      `failed ${times.length} of ${repetitions.length}: ${name}`,
      ...times.map(
        ({ seed, loaded, test }) => `  seed ${seed}${loaded ? ', under load' : ''}: ${test.why[0] ?? ''}`,
      ),
    ]);
  const unexplained = repetitions.filter(({ code, failed }) => code !== 0 && failed.length === 0);
  return [
    ...lines,
    ...unexplained.map(({ seed, code }) => `exit code ${code} without a failed test: seed ${seed}`),
    `${repetitions.filter(({ code }) => code === 0).length} passed, ${repetitions.filter(({ code }) => code !== 0).length} failed`,
  ];
}
