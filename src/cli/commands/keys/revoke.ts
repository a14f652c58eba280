// Revoke a key that leaked.

import { runWrite, writeFlags } from '../../run/run-write.ts';
import { argument, type CommandSpec, requiredText, yesFlag } from '../../spec/command.ts';

export const command: CommandSpec = {
  summary: 'Nothing that a key signed counts any more',
  details:
    'For a key that leaked; to change keys in good order, make a new one. Sign what is still good anew.',
  args: [{ name: 'KEY', what: 'its id' }],
  flags: { reason: { what: 'why', value: 'TEXT', required: true }, ...yesFlag, ...writeFlags },
  examples: [['imago keys revoke 0123456789abcdef --reason "laptop was stolen"', 'asks first']],
  async run(invocation) {
    await runWrite(invocation, {
      endpoint: 'revokeKey',
      input: {
        path: { key: argument(invocation, 'KEY') },
        body: { reason: requiredText(invocation, 'reason') },
      },
      irreversible: true,
      name: ({ id }) => id,
      lines: ({ id, revoked }) => [`Key ${id} is revoked: ${revoked}`],
    });
  },
};
