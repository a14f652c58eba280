// From a recipe to production in one operation, now or by the clock.
import { basename } from 'node:path';
import type { InputOf } from '../../api/contract/types.ts';
import { formatDuration, parseDuration } from '../../domain/value/duration.ts';
import { gatherRecipe, recipeFlags } from '../input/read-recipe.ts';
import { operationFlags, runOperation } from '../run/run-operation.ts';
import { runWrite } from '../run/run-write.ts';
import {
  argumentOr,
  type CommandSpec,
  type Invocation,
  isSet,
  requiredText,
  text,
  texts,
} from '../spec/command.ts';

interface Released {
  readonly image: string;
  readonly version?: string;
  /** Of a matrix. */
  readonly versions?: readonly { readonly version: string; readonly kubernetes: string }[];
  readonly changed: boolean;
  readonly channels: readonly string[];
  readonly totalMs: number | null;
  readonly times: readonly { readonly step: string; readonly state: string; readonly ms: number | null }[];
}

export const command: CommandSpec = {
  summary: 'Lock, build, test, publish and promote a recipe, in one operation',
  details:
    'Passes over what is so already: a recipe that has not changed ends at once. Before gates that time or people can ' +
    'open it waits, however often the daemon is restarted; it tells the time that each step took. A recipe with a matrix ' +
    'is released as one: the highest patch of each minor version goes to channels of its own, like production-1-34, and ' +
    'the highest of all to the plain ones.',
  args: [{ name: 'FILE', what: 'the recipe (default: imago.yaml)', optional: true, completes: 'file' }],
  flags: {
    ...recipeFlags,
    why: { what: 'the reason; kept for ever', value: 'TEXT', required: true },
    to: {
      what: 'a channel to move, in order; again for more (default: all)',
      value: 'CHANNEL',
      repeated: true,
    },
    newest: { what: 'take the newest of every input, whatever was locked before' },
    locked: { what: 'build from the lock as it is, and fail when it is not the lock of the recipe' },
    'when-newer': { what: 'only begin when an input has a newer version than anything built before' },
    wait: { what: 'how long to wait before closed gates (default: 3d)', value: 'TIME' },
    bump: {
      what: 'which part of the number grows, under semver',
      value: 'PART',
      choices: ['patch', 'minor', 'major'],
    },
    every: { what: 'do it by the clock instead of now: five or six fields of cron', value: 'CRON' },
    'time-zone': { what: 'with --every: an IANA time zone (default: UTC)', value: 'ZONE' },
    name: { what: 'with --every: the name of the schedule (default: release-FILE)', value: 'NAME' },
    ...operationFlags,
  },
  examples: [
    ['imago release --why "weekly"', 'imago.yaml, to production'],
    [`imago release --every '0 3 * * 1' --time-zone Europe/Paris --why weekly`, 'every Monday'],
    [`imago release --every '0 * * * *' --when-newer --why "newer input"`, 'within an hour of a newer input'],
    ['imago release --kubernetes 1.34.3 --why "new patch"', 'when a new Kubernetes version is out'],
    ['imago release --newest --to staging --why "newer inputs"', 'only as far as staging'],
  ],
  async run(invocation) {
    const file = argumentOr(invocation, 'FILE', 'imago.yaml');
    const { sent } = await gatherRecipe(invocation, await invocation.client(), file);
    const channels = texts(invocation, 'to');
    const wait = text(invocation, 'wait');
    const bump = text(invocation, 'bump') as 'patch' | 'minor' | 'major' | undefined;
    const body = {
      ...sent,
      why: requiredText(invocation, 'why'),
      ...(bump && { bump }),
      ...(isSet(invocation, 'newest') && { newest: true }),
      ...(isSet(invocation, 'locked') && { locked: true }),
      ...(isSet(invocation, 'when-newer') && { whenNewer: true }),
      ...(channels.length > 0 && { channels: [...channels] }),
      ...(wait !== undefined && { waitSeconds: Math.ceil(parseDuration(wait) / 1000) }),
    };
    const cron = text(invocation, 'every');
    if (cron !== undefined) return schedule(invocation, file, { ...body, cron });
    await runOperation(invocation, {
      endpoint: 'createRelease',
      input: { body },
      name: (result) => names(result),
      lines: (result) => lines(result),
    });
  },
};

async function schedule(
  invocation: Invocation,
  file: string,
  body: Omit<InputOf<'scheduleRelease'>['body'], 'name'>,
): Promise<void> {
  const timeZone = text(invocation, 'time-zone');
  const stem = basename(file).replace(/\.ya?ml$/i, '');
  await runWrite(invocation, {
    endpoint: 'scheduleRelease',
    input: {
      body: {
        ...body,
        name: text(invocation, 'name') ?? `release-${stem}`,
        ...(timeZone === undefined ? {} : { timeZone }),
      },
    },
    name: (made) => made.name,
    lines: (made) => [
      `${made.name} releases ${made.subject.replace(/^[^/]*\//, '')} next at ${made.nextAt ?? 'no time'}`,
    ],
  });
}

/** What `--when-newer` answers: whether it began a release, and which. */
function begun(result: Record<string, unknown>): string | undefined {
  if (result.newer === undefined) return undefined;
  return typeof result.release === 'string' ? result.release : '';
}

function versionsOf({ version, versions }: Released): readonly string[] {
  return versions?.map((one) => one.version) ?? (version === undefined ? [] : [version]);
}

function names(result: Record<string, unknown>): string {
  const released = result as unknown as Released;
  return (
    begun(result) ??
    versionsOf(released)
      .map((version) => `${released.image}:${version}`)
      .join('\n')
  );
}

function lines(result: Record<string, unknown>): readonly string[] {
  const release = begun(result);
  if (release === '') return ['Nothing is newer than what was built before'];
  if (release !== undefined)
    return [`There are newer inputs: follow the release with \`imago op watch ${release}\``];
  const released = result as unknown as Released;
  const { image, changed, channels, totalMs, times } = released;
  const versions = versionsOf(released).join(', ');
  if (!changed) return [`${image}:${versions} is where it should be: nothing changed`];
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
