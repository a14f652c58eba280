// Stop the daemon, its database and its machines.
import { stopDaemon } from '../../launcher/process.ts';
import type { StoppedProcesses } from '../../launcher/spawn.ts';
import { localClient } from '../run/connect.ts';
import type { CommandSpec } from '../spec/command.ts';

export const command: CommandSpec = {
  summary: 'Stop the daemon, its database and its machines; nothing is left running',
  details:
    'Machines are powered off as by their button, and run again at the next start. Live operations stay recorded and go on then.',
  flags: { 'leave-machines': { what: 'machines go on running; the next daemon finds them' } },
  examples: [
    ['imago down', 'stop everything'],
    ['imago down --leave-machines', 'stop the daemon alone'],
  ],
  async run(invocation) {
    const stopped = await stopDaemon({
      leaveMachines: invocation.flags['leave-machines'] === true,
      ask: async (daemon) => {
        const client = localClient(daemon);
        await client.call('shutdown', { body: { database: true } });
        client.close();
      },
    });
    invocation.out.thing(stopped, String(stopped.daemon ?? ''), () => [sentenceOf(stopped)]);
  },
};

function sentenceOf({ daemon, postgres, machines = 0 }: StoppedProcesses): string {
  if (machines > 0) return `Stopped, with ${machines === 1 ? '1 machine' : `${machines} machines`}`;
  return daemon === undefined && postgres === undefined ? 'Nothing was running' : 'Stopped';
}
