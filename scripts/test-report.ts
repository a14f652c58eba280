// Tells ./check which tests of a run failed, and which were left out and why: Vitest itself counts the second as
// passed, and tells the first far above the table. One document is written when the run has come to its end.
import { writeFileSync } from 'node:fs';
import { stripVTControlCharacters } from 'node:util';
import type { Reporter, TestModule, TestSuite } from 'vitest/node';

export interface SkippedTest {
  /** Its path in the tree. */
  readonly file: string;
  /** With the names of the groups that it stands in. */
  readonly name: string;
  /** What the test itself gave as its reason. */
  readonly why?: string;
}

export interface FailedTest {
  readonly file: string;
  /** Of the test, or of the group whose preparation failed; empty for the file itself. */
  readonly name: string;
  /** What was thrown, by its first lines. */
  readonly why: readonly string[];
}

export interface TestReport {
  /** How many tests were run. */
  readonly ran: number;
  readonly skipped: readonly SkippedTest[];
  readonly failed: readonly FailedTest[];
}

const linesTold = 12;

export function testReporter(path: string): Reporter {
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
      const failed = modules.flatMap(listFailed);
      const report: TestReport = { ran: tests.length - skipped.length, skipped, failed };
      writeFileSync(path, JSON.stringify(report));
    },
  };
}

function listFailed(module: TestModule): readonly FailedTest[] {
  const file = module.relativeModuleId;
  const groups: readonly (TestModule | TestSuite)[] = [module, ...module.children.allSuites()];
  return [
    ...groups.flatMap((group) => {
      const errors = group.errors();
      return errors.length === 0
        ? []
        : [{ file, name: 'fullName' in group ? group.fullName : '', why: tell(errors) }];
    }),
    ...[...module.children.allTests('failed')].map((test) => ({
      file,
      name: test.fullName,
      why: tell(test.result().errors ?? []),
    })),
  ];
}

function tell(errors: readonly { readonly message: string }[]): readonly string[] {
  return errors.flatMap(({ message }) => stripVTControlCharacters(message).split('\n').slice(0, linesTold));
}
