// Shows the status of the daemon.
import { ImagoError } from '../../../domain/error/imago-error.ts';
import { keyValueLines } from '../../output/table.ts';
import type { CommandSpec } from '../../spec/command.ts';

export const command: CommandSpec = {
  examples: [['imago status --json', 'Print it for a script; daemon.pid is the process id']],
  async run(invocation) {
    const { connectIfRunning } = await import('../../run/connect.ts');
    const client = await connectIfRunning();
    if (client === undefined) {
      throw new ImagoError('daemon-not-running', 'No daemon is running for this state directory.');
    }
    const status = await client.call('status');
    client.close();
    const waiting = Object.entries(status.operations ?? {}).map(([state, count]) => `${count} ${state}`);
    invocation.out.thing(status, String(status.daemon.pid), () =>
      keyValueLines({
        imago: status.version,
        daemon: `${status.daemon.state}, process ${status.daemon.pid}, up ${Math.round(status.daemon.uptimeSeconds)} s`,
        database: `PostgreSQL ${status.database.version ?? '?'}, ${status.database.embedded ? 'embedded, ' : ''}${status.database.state}`,
        home: status.home,
        socket: status.sockets.api,
        listen: status.listen,
        tls: status.tls?.fingerprint,
        ca: status.tls?.ca,
        settings: Object.entries(status.settings)
          .map(([name, value]) => `${name}=${value}`)
          .join(' '),
        providers: status.providers
          .map(({ name, emulated }) => (emulated ? `${name} (emulated)` : name))
          .join(', '),
        problems:
          status.problems === 0
            ? 'none'
            : status.problems && `${status.problems} open: run imago problem list`,
        operations: waiting.length === 0 ? 'none in progress' : waiting.join(', '),
      }),
    );
  },
};
