// Remove an injected fault.

import { runWrite, writeFlags } from '../../run/run-write.ts';
import { argument, type CommandSpec } from '../../spec/command.ts';

export const command: CommandSpec = {
  summary: 'Take a fault back',
  args: [{ name: 'FAULT', what: 'its id' }],
  flags: writeFlags,
  examples: [['imago sim fault remove 3', 'it will not strike']],
  async run(invocation) {
    await runWrite(invocation, {
      endpoint: 'removeFault',
      input: { path: { fault: argument(invocation, 'FAULT') } },
      name: ({ id }) => String(id),
      lines: ({ id }) => [`Fault ${id} is removed`],
    });
  },
};
