// Revoke a token.

import { runWrite, writeFlags } from '../../run/run-write.ts';
import { argument, type CommandSpec, yesFlag } from '../../spec/command.ts';

export const command: CommandSpec = {
  summary: 'Revoke a token',
  details:
    'Requests with it are refused from now on; shells, consoles, and streams that it holds open end within seconds.',
  args: [{ name: 'TOKEN', what: 'its id' }],
  flags: { ...yesFlag, ...writeFlags },
  examples: [['imago token revoke ID', 'asks first; it is refused from now on']],
  async run(invocation) {
    await runWrite(invocation, {
      endpoint: 'revokeToken',
      input: { path: { token: argument(invocation, 'TOKEN') } },
      irreversible: true,
      name: ({ id }) => id,
      lines: ({ id }) => [`Token ${id} is revoked`],
    });
  },
};
