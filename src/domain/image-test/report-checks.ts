// Checks of what a machine said of itself, with no script.
import { formatDuration } from '../value/duration.ts';
import { type CheckHead, fail, pass, type ReportCheck } from './image-check.ts';

/** Judged by whoever waits for the machine: its detail holds the end of the console. */
export const readyCheck: CheckHead = {
  id: 'machine-ready',
  title: 'the machine becomes ready',
  remedy: 'Keep the machine with --keep-on-failure, and read its console and its journal.',
};

export const reportChecks: readonly ReportCheck[] = [
  {
    id: 'agent-config',
    title: 'the agent applied the very config that it was given',
    remedy: 'It read another document: see the metadata service.',
    judge({ report, configDigest }) {
      if (configDigest === undefined) return undefined;
      const got = report?.config?.digest;
      return got === configDigest ? pass(configDigest.slice(0, 12)) : fail(got ?? 'none');
    },
  },
  {
    id: 'agent-steps',
    title: 'every step of the agent succeeded',
    remedy: 'The step says what to do.',
    judge({ report }) {
      const failed = report?.steps.filter(({ state }) => state === 'failed') ?? [];
      if (report === undefined) return fail('it never spoke');
      if (report.steps.length === 0) return fail('it took none');
      return failed.length === 0
        ? pass(`${report.steps.length} steps`)
        : fail(failed.map(({ name, error }) => `${name}: ${error?.message ?? 'failed'}`).join('; '));
    },
  },
  {
    id: 'boot-budget',
    title: 'the machine is ready within its budget',
    remedy: 'See `imago node timeline`, or raise budgets.bootToReady in the recipe.',
    judge({ readyAfterMs, budgets }) {
      if (readyAfterMs === undefined) return fail('it never was');
      const took = formatDuration(readyAfterMs);
      if (budgets.bootToReadyMs === undefined) return pass(`${took}, no budget`);
      const both = `${took} of ${formatDuration(budgets.bootToReadyMs)}`;
      return readyAfterMs <= budgets.bootToReadyMs ? pass(both) : fail(both);
    },
  },
];
