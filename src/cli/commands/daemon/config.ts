// Commands for the settings of the daemon.
import { resolve } from 'node:path';
import { readSettingName } from '../../../domain/settings/settings.ts';
import { group } from '../../run/builders.ts';
import { listSettings, writeSetting } from '../../run/settings.ts';
import { argument, type CommandSpec, dryRunFlag } from '../../spec/command.ts';

const nameArgument = { name: 'NAME', description: 'Name from `imago config list`' };

const list: CommandSpec = {
  summary: 'List the settings of the daemon',
  examples: [['imago config list', 'List the settings, and which take effect at the next start']],
  async run(invocation) {
    const items = await listSettings();
    invocation.out.list({ items }, ({ name }) => name, {
      name: ({ name }) => name,
      value: ({ value }) => value?.toString(),
      effective: ({ effective }) => effective?.toString(),
      pending: ({ pending }) => (pending ? 'after a restart' : undefined),
      description: ({ what }) => what,
    });
  },
};

const get: CommandSpec = {
  summary: 'Print the value of a setting',
  args: [nameArgument],
  examples: [['imago config get listen', 'Print the address that was set']],
  async run(invocation) {
    const name = readSettingName(argument(invocation, 'NAME'));
    const found = (await listSettings()).find((setting) => setting.name === name);
    const value = String(found?.value ?? '');
    invocation.out.thing(found ?? { name }, value, () => (value === '' ? [] : [value]));
  },
};

const set: CommandSpec = {
  summary: 'Set a setting of the daemon',
  details: 'It is stored in the state directory, and takes effect when the daemon starts.',
  args: [nameArgument, { name: 'VALUE', description: 'Value of the setting' }],
  flags: dryRunFlag,
  examples: [['imago config set listen 127.0.0.1:7070', 'Listen on TCP from the next start on']],
  async run(invocation) {
    const name = argument(invocation, 'NAME');
    const value = argument(invocation, 'VALUE');
    const isFile = name.startsWith('tls-') && !process.env.IMAGO_URL;
    await writeSetting(invocation, name, isFile ? resolve(value) : value);
  },
};

const unset: CommandSpec = {
  summary: 'Remove a setting, so that its default applies',
  args: [nameArgument],
  flags: dryRunFlag,
  examples: [['imago config unset listen', 'Listen only on the Unix socket from the next start on']],
  run: (invocation) => writeSetting(invocation, argument(invocation, 'NAME')),
};

export const command = group({ list, get, set, unset });
