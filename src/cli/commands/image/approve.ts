// Approve a version for a channel.

import { findVersion, imageArgument } from '../../input/find-version.ts';
import { runWrite, writeFlags } from '../../run/run-write.ts';
import { argument, type CommandSpec, isSet, requiredText, text } from '../../spec/command.ts';

export const command: CommandSpec = {
  summary: 'Approve a version for a channel, or take that back',
  details:
    'Counts for the person whose token is used: set IMAGO_TOKEN. Your newest word is the one that counts.',
  args: [imageArgument],
  flags: {
    to: { what: 'the channel', value: 'CHANNEL', required: true, completes: 'channel' },
    refuse: { what: 'stand against it, or take an approval back' },
    why: { what: 'a reason, for others to read', value: 'TEXT' },
    ...writeFlags,
  },
  examples: [['imago image approve node:staging --to production', 'what is in staging may go on']],
  async run(invocation) {
    const path = await findVersion(await invocation.client(), argument(invocation, 'IMAGE'));
    const why = text(invocation, 'why');
    const channel = requiredText(invocation, 'to');
    await runWrite(invocation, {
      endpoint: 'approveVersion',
      input: {
        path,
        body: {
          channel,
          approve: !isSet(invocation, 'refuse'),
          ...(why === undefined ? {} : { why }),
        },
      },
      name: ({ id }) => String(id),
      lines: ({ summary, by }) => [`${path.image}:${path.version}: ${summary} (${by})`],
    });
  },
};
