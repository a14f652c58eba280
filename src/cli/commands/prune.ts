// Delete what nothing needs.
import { formatBytes } from '../../domain/bytes.ts';
import { describeKeeper } from '../../domain/retention.ts';
import { type CommandSpec, isSet, readCount, text, yesFlag } from '../command.ts';
import { operationFlags, runOperation } from '../run-operation.ts';
import { table } from '../table.ts';

export const command: CommandSpec = {
  summary: 'Delete versions that nothing needs',
  details:
    'What a node, pool, channel, rollback target, hold, operation or descendant needs stays, and so does the newest of each image. Each version is looked at again before it goes.',
  args: [{ name: 'NAME', what: 'an image (default: all)', optional: true, completes: 'image' }],
  flags: {
    'keep-count': { what: 'keep the newest N of each image too', value: 'N' },
    'keep-days': { what: 'keep what is younger than N days too', value: 'N' },
    ...yesFlag,
    ...operationFlags,
  },
  examples: [
    ['imago prune --dry-run', 'what keeps each version, and which can go'],
    ['imago prune node --keep-count 10 --yes', 'all but the ten newest of one image, and what is needed'],
  ],
  async run(invocation) {
    const image = invocation.args.NAME;
    const asked = {
      ...(image === undefined ? {} : { image }),
      ...(text(invocation, 'keep-count') === undefined
        ? {}
        : { keepCount: readCount(invocation, 'keep-count') }),
      ...(text(invocation, 'keep-days') === undefined
        ? {}
        : { keepDays: readCount(invocation, 'keep-days') }),
    };
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
        `${plan.going} of ${plan.items.length} can go and free ${formatBytes(plan.freedBytes)}; nothing was written.`,
      ]);
      return;
    }
    await runOperation(invocation, {
      endpoint: 'prune',
      input: { body: asked },
      irreversible: true,
      name: (result) => (result.deleted as readonly string[]).join('\n'),
      lines: (result) => [
        ...(result.deleted as readonly string[]).map((name) => `deleted ${name}`),
        ...(result.kept as readonly string[]).map((line) => `kept ${line}`),
        ...(result.failed as readonly string[]).map((line) => `could not delete ${line}`),
        `Freed ${formatBytes(Number(result.freedBytes))}`,
      ],
    });
  },
};
