// Deletes versions that are no longer in use.
import type { ResponseOf } from '../../../api/contract/types.ts';
import { describeKeeper } from '../../../domain/retention/retention.ts';
import { formatBytes } from '../../../domain/value/bytes.ts';
import { table } from '../../output/table.ts';
import { confirm } from '../../run/confirm.ts';
import { runOperation, runShow, runWrite } from '../../run/run-command.ts';
import type { Result } from '../../spec/call.ts';
import {
  type CommandSpec,
  expectFlag,
  type FlagSpecs,
  type Invocation,
  isSet,
  operationFlags,
  readNumber,
  text,
  yesFlag,
} from '../../spec/command.ts';
import { usage } from '../../spec/parse.ts';

const args = [
  { name: 'IMAGE', description: 'Name of the image (default: all)', optional: true, completes: 'image' },
] as const;

const keepFlags: FlagSpecs = {
  'keep-count': {
    description: 'Also keep the newest N versions of each image',
    value: 'N',
    read: readNumber,
  },
  'keep-days': { description: 'Also keep versions created in the last N days', value: 'N', read: readNumber },
};
const expected = expectFlag('this many versions can be deleted', 'N', readNumber);

export const command: CommandSpec = {
  details:
    'Keeps versions that a node, pool, channel, rollback target, hold, operation, or descendant needs, and the newest version of each image. Each version is checked again before it is deleted. Without --keep-count and --keep-days, the `retention` of the policy applies. The build cache is reduced to its limit too.',
  args,
  flags: {
    ...keepFlags,
    every: {
      description: 'Run on a schedule instead of now (cron expression, 5 or 6 fields)',
      value: 'CRON',
    },
    'time-zone': { description: 'IANA time zone of --every (default: UTC)', value: 'ZONE' },
    name: { description: 'Name of the schedule (default: prune or prune-IMAGE)', value: 'NAME' },
    ...expected,
    ...yesFlag,
    ...operationFlags,
  },
  examples: [
    ['imago prune --dry-run', 'List what retains each version, and which can be deleted'],
    ['imago prune node --keep-count 10 --yes', 'Keep the ten newest versions of one image, and those in use'],
    ["imago prune --every '0 4 * * 0' --yes", 'Prune every Sunday by the retention of the active policy'],
  ],
  async run(invocation) {
    const cron = text(invocation, 'every');
    if (cron !== undefined) return schedule(invocation, cron);
    if (isSet(invocation, 'dry-run')) {
      return runShow(invocation, 'planPrune', {
        ...{ ...command, flags: keepFlags },
        name: ({ items }) =>
          items
            .filter(({ keepers }) => keepers.length === 0)
            .map(({ image, version }) => `${image}:${version}`)
            .join('\n'),
        lines: planLines,
      });
    }
    await runOperation(invocation, 'prune', {
      ...{ args, flags: { ...keepFlags, ...expected }, irreversible: true },
      name: (result) => (result.deleted as readonly string[]).join('\n'),
      done: prunedLines,
    });
  },
};

function planLines(plan: ResponseOf<'planPrune'>, { out }: Invocation): readonly string[] {
  const rows = table(
    plan.items,
    {
      version: ({ image, version }) => `${image}:${version}`,
      state: ({ state }) => state,
      size: ({ sizeBytes }) => formatBytes(sizeBytes),
      verdict: ({ keepers }) => (keepers.length === 0 ? 'delete' : 'keep'),
      reason: ({ keepers }) => keepers.map(describeKeeper).join(', ') || 'not in use',
    },
    out.style,
  );
  const { cache } = plan;
  return [
    ...rows,
    ...(cache === undefined
      ? []
      : [`The build cache has ${formatBytes(cache.bytes)} of at most ${formatBytes(cache.limitBytes)}.`]),
    `${plan.going} of ${plan.items.length} can be deleted, which frees ${formatBytes(plan.freedBytes)}. This is a dry run.`,
  ];
}

function prunedLines({ deleted, kept, failed, freedBytes, cacheFreedBytes = 0 }: Result): readonly string[] {
  const cache = Number(cacheFreedBytes);
  return [
    ...(deleted as readonly string[]).map((name) => `deleted ${name}`),
    ...(kept as readonly string[]).map((line) => `kept ${line}`),
    ...(failed as readonly string[]).map((line) => `could not delete ${line}`),
    `Freed ${formatBytes(Number(freedBytes))}${cache === 0 ? '' : `, and ${formatBytes(cache)} of the build cache`}`,
  ];
}

/** Asks for confirmation once: each run decides what it deletes. */
async function schedule(invocation: Invocation, cron: string): Promise<void> {
  const image = invocation.args.IMAGE;
  if (text(invocation, 'expect') !== undefined) throw usage('--expect cannot be used with --every.', 'prune');
  const keep = (flag: string) => {
    const value = text(invocation, flag);
    return value === undefined ? undefined : readNumber(value, flag);
  };
  if (!isSet(invocation, 'yes') && !isSet(invocation, 'dry-run')) {
    await confirm(invocation, [`Delete versions that are not in use at ${cron}, without asking each time.`]);
  }
  await runWrite(invocation, 'createSchedule', {
    more: () => ({
      name: text(invocation, 'name') ?? (image === undefined ? 'prune' : `prune-${image}`),
      cron,
      timeZone: text(invocation, 'time-zone'),
      kind: 'prune',
      subject: image === undefined ? 'catalogue' : `image/${image}`,
      input: { image, keepCount: keep('keep-count'), keepDays: keep('keep-days') },
    }),
    done: (made) => `${made.name} prunes next at ${made.nextAt ?? 'no time'}`,
  });
}
