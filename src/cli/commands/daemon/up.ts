// Starts the daemon.
import { ensureDaemon } from '../../../launcher/process.ts';
import type { CommandSpec } from '../../spec/command.ts';
import { settingFlags, settingsOf } from './setting-flags.ts';

export const command: CommandSpec = {
  details:
    'Other commands start it too; this one also sets its settings. Each flag is a setting that is stored and used at every later start. See `imago config`.',
  flags: settingFlags,
  examples: [
    ['imago up', 'Start it'],
    ['imago up --listen 127.0.0.1:7443', 'Also accept requests with tokens over TCP'],
  ],
  async run(invocation) {
    const daemon = await ensureDaemon({
      flags: settingsOf(invocation),
      onProgress: (message) => invocation.out.note(message),
    });
    invocation.out.thing(daemon, String(daemon.pid), () => [
      daemon.started
        ? `Started the daemon, process ${daemon.pid}`
        : `The daemon is already running, process ${daemon.pid}`,
    ]);
  },
};
