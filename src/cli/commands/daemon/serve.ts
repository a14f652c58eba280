// Runs the daemon in the foreground, for service managers and containers.
import { ImagoError } from '../../../domain/error/imago-error.ts';
import { daemonCommand } from '../../../launcher/spawn.ts';
import type { CommandSpec } from '../../spec/command.ts';
import { settingFlags, settingsOf } from './setting-flags.ts';

export const command: CommandSpec = {
  details:
    'The process becomes the daemon: it keeps its id, logs to `log/daemon.log` in the state directory, and stops cleanly on SIGTERM or Ctrl-C, with the database. Machines keep running and are adopted by the next daemon; `imago down` stops them too. As a systemd service of the type `notify`, it reports when it is ready. Each flag is a setting that is stored, as with `imago up`.',
  flags: settingFlags,
  examples: [
    ['imago serve', 'Run it until Ctrl-C'],
    ['imago serve --listen 0.0.0.0:7443', 'Also accept requests with tokens over TCP'],
  ],
  async run(invocation) {
    const [program = '', ...words] = daemonCommand(settingsOf(invocation));
    // The daemon acts for many callers and must not hold the token of one.
    const { IMAGO_TOKEN: _token, ...env } = process.env;
    if (process.execve === undefined)
      throw new ImagoError('internal', 'This Node.js cannot replace its process.', {
        hint: 'Use Node.js 24.',
      });
    process.execve(program, [program, ...words], env as NodeJS.Dict<string>);
  },
};
