// Trust the key of another installation no more.

import { runWrite, writeFlags } from '../../run/run-write.ts';
import { argument, type CommandSpec, yesFlag } from '../../spec/command.ts';

export const command: CommandSpec = {
  summary: 'Let nothing count any more that a key of another installation signed',
  details: 'It can be trusted again. For a key that leaked use `imago keys revoke`: that is for good.',
  args: [{ name: 'KEY', what: 'its id' }],
  flags: { ...yesFlag, ...writeFlags },
  examples: [
    ['imago keys forget 0123456789abcdef', 'asks first; versions that only it signed are unsigned again'],
  ],
  async run(invocation) {
    await runWrite(invocation, {
      endpoint: 'forgetKey',
      input: { path: { key: argument(invocation, 'KEY') } },
      irreversible: true,
      name: ({ id }) => id,
      lines: ({ id, owner }) => [`Key ${id} of ${owner} is not trusted any more`],
    });
  },
};
