// Suites by what they need: unit tests boot nothing; the others use real servers or machines.
import { defineConfig } from 'vitest/config';
import { LongestFirst } from './scripts/longest-first.ts';
import { machineTests } from './scripts/machine-tests.ts';
import { testReporter } from './scripts/test-report.ts';
import { patience, shareSpeed } from './test/support/speed.ts';

shareSpeed();
const skipped = process.env.IMAGO_TEST_REPORT;

interface Options {
  readonly exclude?: readonly string[];
  /** Whether each file gets a process of its own. Starting one and loading the modules costs more than most tests. */
  readonly isolate?: boolean;
}

function project(name: string, include: readonly string[], timeout: number, options: Options = {}) {
  return {
    test: {
      name,
      include: [...include],
      testTimeout: patience(timeout),
      hookTimeout: patience(timeout),
      expect: { poll: { timeout: patience(timeout) / 2 } },
      pool: 'forks' as const,
      isolate: options.isolate ?? true,
      exclude: ['**/node_modules/**', ...(options.exclude ?? [])],
    },
  };
}

export default defineConfig({
  test: {
    passWithNoTests: false,
    // scripts/repeat.ts asks for a random order, which a sequencer of our own would undo.
    sequence: process.env.IMAGO_TEST_ORDER === 'random' ? {} : { sequencer: LongestFirst },
    reporters: ['default', ...(skipped === undefined ? [] : [testReporter(skipped)])],
    projects: [
      project('unit', ['src/**/*.test.ts', 'scripts/**/*.test.ts', 'test/support/**/*.test.ts'], 20_000, {
        isolate: false,
      }),
      project('conformance', ['test/conformance/**/*.test.ts'], 120_000),
      project('integration', ['test/integration/**/*.test.ts'], 180_000),
      project('e2e', ['test/e2e/**/*.test.ts'], 600_000, { exclude: machineTests }),
      project('machines', machineTests, 600_000),
    ],
  },
});
