// Make a token.

import { facts } from '../../output/table.ts';
import { runWrite, writeFlags } from '../../run/run-write.ts';
import { type CommandSpec, requiredText, text } from '../../spec/command.ts';
import { usage } from '../../spec/parse.ts';

const roles = ['viewer', 'operator', 'publisher', 'admin'] as const;

export const command: CommandSpec = {
  summary: 'Make a token for access over the network',
  details: 'The secret is shown once; only a hash is kept.',
  flags: {
    owner: {
      what: 'who acts with it: the name in operations and in the audit',
      value: 'NAME',
      required: true,
    },
    role: { what: 'what it may do', value: 'ROLE', choices: roles, required: true },
    days: { what: 'how long it lives (default: 90)', value: 'N' },
    ...writeFlags,
  },
  examples: [['imago token create --owner ci --role publisher --days 30', 'for a pipeline']],
  async run(invocation) {
    const days = text(invocation, 'days');
    if (days !== undefined && !(Number(days) > 0))
      throw usage(`--days is a number above 0, not ${JSON.stringify(days)}.`, 'token create');
    await runWrite(invocation, {
      endpoint: 'createToken',
      input: {
        body: {
          owner: requiredText(invocation, 'owner'),
          role: requiredText(invocation, 'role') as (typeof roles)[number],
          ...(days === undefined ? {} : { expiresInDays: Number(days) }),
        },
      },
      name: ({ secret }) => secret,
      lines: (token) => facts({ ...token }),
    });
  },
};
