// Reads and changes settings: through the running daemon, which audits it, or in the state directory if none is
// running. That way, a setting that keeps the daemon from starting can be repaired.
import type { Client } from '../../api/client/client.ts';
import {
  changeSetting,
  describeChange,
  readSettingName,
  type SettingName,
  type SettingView,
  viewSetting,
  viewSettings,
} from '../../domain/settings/settings.ts';
import { stateFolder } from '../../launcher/paths.ts';
import { openSettings } from '../../launcher/settings-file.ts';
import { type Invocation, isSet } from '../spec/command.ts';
import { connectIfRunning } from './connect.ts';
import { printPlan, runWrite } from './run-command.ts';

export async function listSettings(): Promise<readonly SettingView[]> {
  const client = await connectIfRunning();
  if (client === undefined) return viewSettings(openSettings(stateFolder()).read());
  const { items } = await client.call('listSettings').finally(() => client.close());
  return items;
}

/** Sets it, or unsets it if there is no value, and prints the result. */
export async function writeSetting(invocation: Invocation, text: string, value?: string): Promise<void> {
  const name = readSettingName(text);
  const client = await connectIfRunning();
  if (client === undefined) return writeFile(invocation, name, value);
  const through = { ...invocation, client: async (): Promise<Client> => client };
  const spec = { more: () => ({ setting: name, value }), done: settingLines };
  try {
    await runWrite(through, value === undefined ? 'unsetSetting' : 'setSetting', spec);
  } finally {
    client.close();
  }
}

async function writeFile(invocation: Invocation, name: SettingName, value?: string): Promise<void> {
  const file = openSettings(stateFolder());
  if (isSet(invocation, 'dry-run')) {
    changeSetting(file.read(), name, value);
    const subject = `setting/${name}`;
    return printPlan(invocation, { dryRun: true, subject, plan: [describeChange(name, value)] }, subject);
  }
  const after = await file.change((settings) => changeSetting(settings, name, value));
  const view = viewSetting(after, name);
  invocation.out.thing(view, name, () => settingLines(view));
}

function settingLines({ name, value, pending }: SettingView): readonly string[] {
  return [
    value === undefined ? `${name} is not set` : `${name} is ${value}`,
    ...(pending ? ['It takes effect when the daemon starts again: `imago down`, then `imago up`'] : []),
  ];
}
