// Remove a setting.
import { writeFlags } from '../../run/run-write.ts';
import { writeSetting } from '../../run/settings.ts';
import { argument, type CommandSpec } from '../../spec/command.ts';

export const command: CommandSpec = {
  summary: 'Remove a setting; its default applies',
  args: [{ name: 'NAME', what: 'a name from `imago config list`' }],
  flags: writeFlags,
  examples: [['imago config unset listen', 'listen on the Unix socket alone from the next start on']],
  run: (invocation) => writeSetting(invocation, argument(invocation, 'NAME')),
};
