// Tells ./check which tests of a run were left out, and why: Vitest itself counts such a run as passed. One document
// is written when the run has come to its end.
import { writeFileSync } from 'node:fs';
import type { Reporter } from 'vitest/node';

export interface SkippedTest {
  /** Its path in the tree. */
  readonly file: string;
  /** With the names of the groups that it stands in. */
  readonly name: string;
  /** What the test itself gave as its reason. */
  readonly why?: string;
}

export interface SkipReport {
  /** How many tests were run. */
  readonly ran: number;
  readonly skipped: readonly SkippedTest[];
}

export function skipReporter(path: string): Reporter {
  return {
    onTestRunEnd(modules) {
      const tests = modules.flatMap((module) =>
        [...module.children.allTests()].map((test) => ({ file: module.relativeModuleId, test })),
      );
      const skipped = tests.flatMap(({ file, test }) => {
        const result = test.result();
        if (result.state === 'passed' || result.state === 'failed') return [];
        const why = result.state === 'skipped' ? result.note : undefined;
        return [{ file, name: test.fullName, ...(why === undefined ? {} : { why }) }];
      });
      const report: SkipReport = { ran: tests.length - skipped.length, skipped };
      writeFileSync(path, JSON.stringify(report));
    },
  };
}
