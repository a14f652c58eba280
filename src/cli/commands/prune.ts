// Delete what nothing needs.
import type { InputOf } from '../../api/contract/types.ts';
import { describeKeeper } from '../../domain/retention/retention.ts';
import { formatBytes } from '../../domain/value/bytes.ts';
import { table } from '../output/table.ts';
import { confirm } from '../run/confirm.ts';
import { operationFlags, runOperation } from '../run/run-operation.ts';
import { runWrite } from '../run/run-write.ts';
import {
  type CommandSpec,
  destructiveFlags,
  type Invocation,
  isSet,
  readOptionalCount,
  text,
} from '../spec/command.ts';
import { usage } from '../spec/parse.ts';

export const command: CommandSpec = {
  summary: 'Delete versions that nothing needs',
  details:
    'What a node, pool, channel, rollback target, hold, operation or descendant needs stays, and so does the newest of each image. Each version is looked at again before it goes. Without --keep-count and --keep-days, what `retention` in the policy says is kept too. The build cache is brought within its limit as well.',
  args: [{ name: 'NAME', what: 'an image (default: all)', optional: true, completes: 'image' }],
  flags: {
    'keep-count': { what: 'keep the newest N of each image too', value: 'N' },
    'keep-days': { what: 'keep what is younger than N days too', value: 'N' },
    every: { what: 'do it by the clock instead of now: five or six fields of cron', value: 'CRON' },
    'time-zone': { what: 'with --every: an IANA time zone (default: UTC)', value: 'ZONE' },
    name: { what: 'with --every: the name of the schedule (default: prune or prune-NAME)', value: 'NAME' },
    ...destructiveFlags('this many versions can be deleted', 'N'),
    ...operationFlags,
  },
  examples: [
    ['imago prune --dry-run', 'what keeps each version, and which can go'],
    ['imago prune node --keep-count 10 --yes', 'all but the ten newest of one image, and what is needed'],
    ["imago prune --every '0 4 * * 0' --yes", 'every Sunday, by the retention of the policy then in force'],
  ],
  async run(invocation) {
    const image = invocation.args.NAME;
    const keepCount = readOptionalCount(invocation, 'keep-count');
    const keepDays = readOptionalCount(invocation, 'keep-days');
    const expect = readOptionalCount(invocation, 'expect');
    const asked = {
      ...(image === undefined ? {} : { image }),
      ...(keepCount === undefined ? {} : { keepCount }),
      ...(keepDays === undefined ? {} : { keepDays }),
    };
    const cron = text(invocation, 'every');
    if (cron !== undefined) return schedule(invocation, cron, asked);
    if (isSet(invocation, 'dry-run')) {
      const client = await invocation.client();
      const plan = await client.call('planPrune', { query: asked });
      const going = plan.items.filter(({ keepers }) => keepers.length === 0);
      invocation.out.thing(plan, going.map((item) => `${item.image}:${item.version}`).join('\n'), () => [
        ...table(
          plan.items,
          {
            version: (item) => `${item.image}:${item.version}`,
            state: (item) => item.state,
            size: (item) => formatBytes(item.sizeBytes),
            verdict: ({ keepers }) => (keepers.length === 0 ? 'can go' : 'stays'),
            because: ({ keepers }) =>
              keepers.length === 0 ? 'nothing needs it' : keepers.map(describeKeeper).join(', '),
          },
          invocation.out.style,
        ),
        ...(plan.cache === undefined
          ? []
          : [
              `The build cache has ${formatBytes(plan.cache.bytes)} of at most ${formatBytes(plan.cache.limitBytes)}.`,
            ]),
        `${plan.going} of ${plan.items.length} can go and free ${formatBytes(plan.freedBytes)}; nothing was written.`,
      ]);
      return;
    }
    await runOperation(invocation, {
      endpoint: 'prune',
      input: { body: { ...asked, ...(expect === undefined ? {} : { expect }) } },
      irreversible: true,
      name: (result) => (result.deleted as readonly string[]).join('\n'),
      lines: (result) => [
        ...(result.deleted as readonly string[]).map((name) => `deleted ${name}`),
        ...(result.kept as readonly string[]).map((line) => `kept ${line}`),
        ...(result.failed as readonly string[]).map((line) => `could not delete ${line}`),
        `Freed ${formatBytes(Number(result.freedBytes))}${
          Number(result.cacheFreedBytes ?? 0) === 0
            ? ''
            : `, and ${formatBytes(Number(result.cacheFreedBytes))} of the build cache`
        }`,
      ],
    });
  },
};

/** Asked for once: what it deletes then is decided then. */
async function schedule(
  invocation: Invocation,
  cron: string,
  asked: NonNullable<InputOf<'prune'>['body']>,
): Promise<void> {
  const { image } = asked;
  if (text(invocation, 'expect') !== undefined) throw usage('--expect does not go with --every.', 'prune');
  const timeZone = text(invocation, 'time-zone');
  const name = text(invocation, 'name') ?? (image === undefined ? 'prune' : `prune-${image}`);
  if (!isSet(invocation, 'yes') && !isSet(invocation, 'dry-run')) {
    await confirm(invocation, [`Delete what nothing needs at ${cron}, each time without asking.`]);
  }
  await runWrite(invocation, {
    endpoint: 'createSchedule',
    input: {
      body: {
        ...{ name, cron, kind: 'prune', input: { ...asked } },
        subject: image === undefined ? 'catalogue' : `image/${image}`,
        ...(timeZone === undefined ? {} : { timeZone }),
      },
    },
    name: (made) => made.name,
    lines: (made) => [`${made.name} prunes next at ${made.nextAt ?? 'no time'}`],
  });
}
