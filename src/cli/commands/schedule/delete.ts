// End a schedule.

import { runWrite, writeFlags } from '../../run/run-write.ts';
import { argument, type CommandSpec } from '../../spec/command.ts';

export const command: CommandSpec = {
  summary: 'End a schedule',
  args: [{ name: 'NAME', what: 'the schedule' }],
  flags: writeFlags,
  examples: [['imago schedule delete nightly', 'it fires no more']],
  async run(invocation) {
    await runWrite(invocation, {
      endpoint: 'deleteSchedule',
      input: { path: { schedule: argument(invocation, 'NAME') } },
      name: ({ name }) => name,
      lines: ({ name }) => [`Schedule ${name} is ended`],
    });
  },
};
