// Stop the daemon and its database.
import { createClient } from '../../api/client.ts';
import { stopDaemon } from '../../api/daemon-process.ts';
import type { CommandSpec } from '../command.ts';

export const command: CommandSpec = {
  summary: 'Stop the daemon and its database; nothing is left running',
  details: 'Live operations stay recorded and go on at the next start.',
  examples: [['imago down', 'stop everything']],
  async run(invocation) {
    const stopped = await stopDaemon({
      ask: async ({ socket }) => {
        const client = createClient({ socketPath: socket });
        await client.call('shutdown', { body: { database: true } });
        client.close();
      },
    });
    invocation.out.thing(stopped, String(stopped.daemon ?? ''), () => [
      stopped.daemon === undefined && stopped.postgres === undefined ? 'Nothing was running' : 'Stopped',
    ]);
  },
};
