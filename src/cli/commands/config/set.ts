// Set a setting.
import { resolve } from 'node:path';
import { writeFlags } from '../../run/run-write.ts';
import { writeSetting } from '../../run/settings.ts';
import { argument, type CommandSpec } from '../../spec/command.ts';

export const command: CommandSpec = {
  summary: 'Set a setting of the daemon',
  details: 'It is kept in the state directory, and takes effect when the daemon starts.',
  args: [
    { name: 'NAME', what: 'a name from `imago config list`' },
    { name: 'VALUE', what: 'its value' },
  ],
  flags: writeFlags,
  examples: [['imago config set listen 127.0.0.1:7070', 'also listen on TCP from the next start on']],
  async run(invocation) {
    const name = argument(invocation, 'NAME');
    const value = argument(invocation, 'VALUE');
    const isFile = name.startsWith('tls-') && !process.env.IMAGO_URL;
    await writeSetting(invocation, name, isFile ? resolve(value) : value);
  },
};
