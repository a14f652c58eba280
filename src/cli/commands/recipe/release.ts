// Releases a recipe in one operation, now or on a schedule.
import { basename } from 'node:path';
import type { ResponseOf } from '../../../api/contract/types.ts';
import { formatDuration, parseDuration } from '../../../domain/value/duration.ts';
import { recipeArguments, recipeFile, recipeFlags, sendRecipe } from '../../input/read-recipe.ts';
import { runOperation, runWrite } from '../../run/run-command.ts';
import type { Result } from '../../spec/call.ts';
import { type CommandSpec, type FlagSpecs, operationFlags, reasonFlag, text } from '../../spec/command.ts';
import { buildFlags } from './build.ts';

interface Released {
  readonly image: string;
  readonly version?: string;
  /** The versions of a matrix. */
  readonly versions?: readonly { readonly version: string; readonly kubernetes: string }[];
  readonly changed: boolean;
  readonly channels: readonly string[];
  readonly totalMs: number | null;
  readonly times: readonly { readonly step: string; readonly state: string; readonly ms: number | null }[];
}

const scheduleFlags: FlagSpecs = {
  every: {
    description: 'Run on a schedule instead of now (cron expression, 5 or 6 fields)',
    value: 'CRON',
    field: 'cron',
  },
  'time-zone': { description: 'IANA time zone of --every (default: UTC)', value: 'ZONE' },
  name: { description: 'Name of the schedule (default: release-FILE)', value: 'NAME' },
};

export const command: CommandSpec = {
  details:
    'Skips steps that are already done: an unchanged recipe finishes immediately. Waits for gates that time or approvals can pass, even if the daemon restarts, and reports the duration of each step. A recipe with a matrix is released as one: the highest patch of each minor version goes to its own channels, such as production-1-34, and the highest version to the plain ones.',
  args: recipeArguments,
  flags: {
    ...recipeFlags,
    reason: { ...reasonFlag.reason, field: 'why' },
    to: {
      description: 'Channel to promote to, in order (default: all)',
      value: 'CHANNEL',
      repeated: true,
      field: 'channels',
    },
    newest: { description: 'Upgrade every input to its newest version, ignoring the existing lock' },
    'when-newer': { description: 'Release only if an input is newer than in any previous build' },
    wait: {
      description: 'Maximum time to wait for gates to pass (default: 3d)',
      value: 'TIME',
      field: 'waitSeconds',
      read: (value) => Math.ceil(parseDuration(value) / 1000),
    },
    ...buildFlags,
    ...scheduleFlags,
    ...operationFlags,
  },
  examples: [
    ['imago release --reason "weekly"', 'Release imago.yaml to production'],
    [`imago release --every '0 3 * * 1' --time-zone Europe/Paris --reason weekly`, 'Release every Monday'],
    [
      `imago release --every '0 * * * *' --when-newer --reason "newer input"`,
      'Release within an hour of a newer input',
    ],
    ['imago release --kubernetes 1.34.3 --reason "new patch"', 'Release a new Kubernetes version'],
    ['imago release --newest --to staging --reason "newer inputs"', 'Release only to staging'],
  ],
  async run(invocation) {
    const file = recipeFile(invocation);
    if (text(invocation, 'every') !== undefined) {
      const name = text(invocation, 'name') ?? `release-${basename(file).replace(/\.ya?ml$/i, '')}`;
      const done = (made: ResponseOf<'scheduleRelease'>) =>
        `${made.name} releases ${made.subject.replace(/^[^/]*\//, '')} next at ${made.nextAt ?? 'no time'}`;
      return sendRecipe(invocation, (sent) =>
        runWrite(invocation, 'scheduleRelease', { ...command, done, more: () => ({ ...sent, name }) }),
      );
    }
    const printed = { name: releasedNames, done: releaseLines };
    await sendRecipe(invocation, (sent) =>
      runOperation(invocation, 'createRelease', { ...command, ...printed, more: () => sent }),
    );
  },
};

/** Returns the release that `--when-newer` started, or an empty text if none. */
function startedRelease(result: Result): string | undefined {
  if (result.newer === undefined) return undefined;
  return typeof result.release === 'string' ? result.release : '';
}

function versionsOf({ version, versions }: Released): readonly string[] {
  return versions?.map((one) => one.version) ?? (version === undefined ? [] : [version]);
}

function releasedNames(result: Result): string {
  const released = result as Partial<Released> as Released;
  return (
    startedRelease(result) ??
    versionsOf(released)
      .map((version) => `${released.image}:${version}`)
      .join('\n')
  );
}

function releaseLines(result: Result): readonly string[] {
  const release = startedRelease(result);
  if (release === '') return ['No input is newer than in previous builds'];
  if (release !== undefined)
    return [`Newer inputs were found. Follow the release with \`imago op watch ${release}\``];
  const released = result as Partial<Released> as Released;
  const { image, changed, channels, totalMs, times } = released;
  const versions = versionsOf(released).join(', ');
  if (!changed) return [`${image}:${versions} is already released: nothing changed`];
  return [
    `${image}:${versions} is in ${channels.join(', ') || 'no new channel'}`,
    ...times
      .filter(({ ms }) => ms !== null)
      .map(({ step, ms }) => `  ${step.padEnd(28)} ${formatDuration(ms ?? 0)}`),
    ...(totalMs === null
      ? []
      : [`  ${'from lock to the last channel'.padEnd(28)} ${formatDuration(totalMs)}`]),
  ];
}
