// The settings of the daemon as flags of the commands that start it.
import { resolve } from 'node:path';
import {
  azureSignInWays,
  readSettings,
  type Settings,
  settingNames,
  settingSpecs,
} from '../../../domain/settings/settings.ts';
import { type FlagSpec, type FlagSpecs, type Invocation, text } from '../../spec/command.ts';

const fileFlag = { value: 'FILE', completes: 'file' } as const;
const flagForms: Readonly<Record<string, Omit<FlagSpec, 'description'>>> = {
  listen: { value: 'HOST:PORT' },
  'tls-cert': fileFlag,
  'tls-key': fileFlag,
  provider: { value: 'NAME', choices: ['local', 'azure', 'sim'] },
  'azure-subscription': { value: 'ID' },
  'azure-resource-group': { value: 'NAME' },
  'azure-location': { value: 'REGION' },
  'azure-gallery': { value: 'NAME' },
  'azure-subnet': { value: 'ID' },
  'azure-sign-in': { value: 'WAY', choices: azureSignInWays },
  'azure-endpoint': { value: 'URL' },
  'azure-ca': fileFlag,
};

export const settingFlags: FlagSpecs = Object.fromEntries(
  settingNames.map((name) => [
    name,
    { description: settingSpecs[name].what, ...(flagForms[name] ?? { value: 'N' }) } satisfies FlagSpec,
  ]),
);

/** Files are named from the current directory, and stored with their whole path. */
export function settingsOf(invocation: Invocation): Settings {
  const given = settingNames.map((name) => {
    const value = text(invocation, name);
    const isFile = name.startsWith('tls-') || name === 'azure-ca';
    return [name, value !== undefined && isFile ? resolve(value) : value] as const;
  });
  return readSettings(Object.fromEntries(given), (name) => `--${name}`);
}
