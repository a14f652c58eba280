// Stands between the store and PostgreSQL and loses replies: the statement arrives and takes effect, and the
// caller never hears of it.
import { mkdtempSync, rmSync } from 'node:fs';
import { connect, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export interface LossyDatabase {
  /** The URL of the database through the proxy. */
  readonly url: string;
  /** How many replies were lost so far. */
  readonly lost: number;
  /** Loses the reply to the next message that holds this text, and with it the connection. */
  loseReplyTo(text: string): void;
  close(): Promise<void>;
}

const socketName = '.s.PGSQL.5432';

/** For databases of `startPostgres`. */
export async function startLossyDatabase(url: string): Promise<LossyDatabase> {
  const address = new URL(url);
  const target = join(address.searchParams.get('host') ?? '', socketName);
  const folder = mkdtempSync(join(tmpdir(), 'imago-lossy-'));
  const sockets = new Set<Socket>();
  let wanted: Buffer | undefined;
  let lost = 0;

  const server = createServer((client) => {
    const upstream = connect(target);
    let silenced = false;
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket.on('error', () => undefined);
      socket.on('close', () => sockets.delete(socket));
    }
    client.on('data', (data) => {
      if (wanted !== undefined && data.includes(wanted)) {
        wanted = undefined;
        silenced = true;
        lost += 1;
      }
      upstream.write(data);
    });
    upstream.on('data', (data) => {
      if (silenced) client.destroy();
      else client.write(data);
    });
    client.on('close', () => upstream.end());
    upstream.on('close', () => client.destroy());
  });
  await new Promise<void>((resolve) => server.listen(join(folder, socketName), resolve));
  address.searchParams.set('host', folder);

  return {
    url: address.toString(),
    get lost() {
      return lost;
    },
    loseReplyTo(text) {
      wanted = Buffer.from(text);
    },
    async close() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
