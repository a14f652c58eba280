// Stops the daemon, its database, and its machines.
import { ImagoError } from '../../../domain/error/imago-error.ts';
import { stopDaemon } from '../../../launcher/process.ts';
import type { StoppedProcesses } from '../../../launcher/spawn.ts';
import { localClient } from '../../run/connect.ts';
import type { CommandSpec } from '../../spec/command.ts';

export const command: CommandSpec = {
  details:
    'Machines are shut down as by their power button, and started again with the daemon. Live operations stay recorded and resume then.',
  flags: { 'leave-machines': { description: 'Leave machines running for the next daemon to adopt' } },
  examples: [
    ['imago down', 'Stop everything'],
    ['imago down --leave-machines', 'Stop only the daemon'],
  ],
  async run(invocation) {
    if (process.env.IMAGO_URL) {
      throw new ImagoError(
        'usage-invalid',
        'IMAGO_URL is set, and only the daemon of this host can be stopped.',
        {
          hint: 'Unset IMAGO_URL, or run `imago down` on the host of that daemon.',
        },
      );
    }
    const stopped = await stopDaemon({
      leaveMachines: invocation.flags['leave-machines'] === true,
      ask: async (daemon) => {
        const client = localClient(daemon);
        await client.call('shutdown', { body: { database: true } });
        client.close();
      },
    });
    invocation.out.thing(stopped, String(stopped.daemon ?? ''), () => [describeStop(stopped)]);
  },
};

function describeStop({ daemon, postgres, machines = 0 }: StoppedProcesses): string {
  if (machines > 0) return `Stopped, with ${machines === 1 ? '1 machine' : `${machines} machines`}`;
  return daemon === undefined && postgres === undefined ? 'Nothing was running' : 'Stopped';
}
