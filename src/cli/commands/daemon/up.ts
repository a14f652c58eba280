// Starts the daemon.
import { resolve } from 'node:path';
import {
  azureSignInWays,
  readSettings,
  settingNames,
  settingSpecs,
} from '../../../domain/settings/settings.ts';
import { ensureDaemon } from '../../../launcher/process.ts';
import { type CommandSpec, type FlagSpec, text } from '../../spec/command.ts';

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

export const command: CommandSpec = {
  details:
    'Other commands start it too; this one also sets its settings. Each flag is a setting that is stored and used at every later start. See `imago config`.',
  flags: Object.fromEntries(
    settingNames.map((name) => [
      name,
      { description: settingSpecs[name].what, ...(flagForms[name] ?? { value: 'N' }) } satisfies FlagSpec,
    ]),
  ),
  examples: [
    ['imago up', 'Start it'],
    ['imago up --listen 127.0.0.1:7443', 'Also accept requests with tokens over TCP'],
  ],
  async run(invocation) {
    const given = settingNames.map((name) => {
      const value = text(invocation, name);
      return [
        name,
        value !== undefined && (name.startsWith('tls-') || name === 'azure-ca') ? resolve(value) : value,
      ] as const;
    });
    const daemon = await ensureDaemon({
      flags: readSettings(Object.fromEntries(given), (name) => `--${name}`),
      onProgress: (message) => invocation.out.note(message),
    });
    invocation.out.thing(daemon, String(daemon.pid), () => [
      daemon.started
        ? `Started the daemon, process ${daemon.pid}`
        : `The daemon is already running, process ${daemon.pid}`,
    ]);
  },
};
