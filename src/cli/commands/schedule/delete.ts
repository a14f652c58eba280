// End a schedule.

import { runWrite, writeFlags } from '../../run/run-write.ts';
import { argument, type CommandSpec, yesFlag } from '../../spec/command.ts';

export const command: CommandSpec = {
  summary: 'End a schedule',
  args: [{ name: 'NAME', what: 'the schedule' }],
  flags: { ...yesFlag, ...writeFlags },
  examples: [['imago schedule delete nightly', 'asks first; it starts no more operations']],
  async run(invocation) {
    await runWrite(invocation, {
      endpoint: 'deleteSchedule',
      input: { path: { schedule: argument(invocation, 'NAME') } },
      irreversible: true,
      name: ({ name }) => name,
      lines: ({ name }) => [`Schedule ${name} is ended`],
    });
  },
};
