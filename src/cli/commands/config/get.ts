// Print one setting.
import { readSettingName } from '../../../domain/settings/settings.ts';
import { listSettings } from '../../run/settings.ts';
import { argument, type CommandSpec } from '../../spec/command.ts';

export const command: CommandSpec = {
  summary: 'Print the value of a setting',
  args: [{ name: 'NAME', what: 'a name from `imago config list`' }],
  examples: [['imago config get listen', 'print the address that was set']],
  async run(invocation) {
    const name = readSettingName(argument(invocation, 'NAME'));
    const found = (await listSettings()).find((setting) => setting.name === name);
    const value = String(found?.value ?? '');
    invocation.out.thing(found ?? { name }, value, () => (value === '' ? [] : [value]));
  },
};
