// The way to the daemon: the socket of the state folder, or another machine's API by IMAGO_URL and IMAGO_TOKEN.
import { type Client, createClient } from '../../api/client/client.ts';
import { ImagoError } from '../../domain/error/imago-error.ts';
import { ensureDaemon, findDaemon, isDaemonThere, type RunningDaemon } from '../../launcher/process.ts';
import type { Output } from '../output/output.ts';

/** The client; starts the daemon when none runs here. */
export async function connect(out: Output): Promise<Client> {
  const remote = connectRemote();
  if (remote !== undefined) return remote;
  const daemon = await ensureDaemon({ onProgress: (sentence) => out.note(sentence) });
  return localClient(daemon);
}

/** Brings a daemon of this machine back when it has gone away; another machine's comes back by itself. */
export async function reviveDaemon(): Promise<void> {
  if (!process.env.IMAGO_URL) await ensureDaemon();
}

/** The client of a daemon that runs already; `undefined` when none does. */
export async function connectIfRunning(): Promise<Client | undefined> {
  const remote = connectRemote();
  if (remote !== undefined) return remote;
  const daemon = await findDaemon();
  return daemon && localClient(daemon);
}

function localClient({ socket }: RunningDaemon): Client {
  return createClient({ socketPath: socket, isRunning: isDaemonThere });
}

function connectRemote(): Client | undefined {
  const { IMAGO_URL: url, IMAGO_TOKEN: token } = process.env;
  if (!url) return undefined;
  if (!token) {
    throw new ImagoError('usage-invalid', 'IMAGO_URL is set but IMAGO_TOKEN is not.', {
      hint: 'Get a token with `imago token create` on the machine of the daemon.',
    });
  }
  return createClient({ url, token });
}
