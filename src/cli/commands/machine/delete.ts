// Take a machine of no pool away.

import { runWrite, writeFlags } from '../../run/run-write.ts';
import { argument, type CommandSpec, yesFlag } from '../../spec/command.ts';

export const command: CommandSpec = {
  summary: 'Take a machine that belongs to no pool, and its disk, away',
  args: [{ name: 'MACHINE', what: 'the machine' }],
  flags: { ...yesFlag, ...writeFlags },
  examples: [['imago machine delete test-4f1a-1 --yes', 'without being asked']],
  async run(invocation) {
    await runWrite(invocation, {
      endpoint: 'deleteMachine',
      input: { path: { machine: argument(invocation, 'MACHINE') } },
      irreversible: true,
      name: ({ name }) => name,
      lines: ({ name }) => [`Machine ${name} goes, with its disk`],
    });
  },
};
