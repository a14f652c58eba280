// Connects to the daemon: over the socket of the state directory, or to another host's API with IMAGO_URL. IMAGO_TOKEN
// says who is acting in both cases.
import { readFileSync } from 'node:fs';
import { type Client, createClient } from '../../api/client/client.ts';
import type { ClientTarget } from '../../api/client/exchange.ts';
import { ImagoError } from '../../domain/error/imago-error.ts';
import { stateFolder } from '../../launcher/paths.ts';
import {
  ensureDaemon,
  findDaemon,
  isDaemonThere,
  isHomeEmpty,
  type RunningDaemon,
} from '../../launcher/process.ts';
import type { Output } from '../output/output.ts';

/** Returns the client. Its first request starts the daemon if none runs here, unless it reads where nothing is yet. */
export async function connect(out: Output): Promise<Client> {
  return (
    connectRemote() ??
    createClient(async (method) => {
      if (method === 'GET' && isHomeEmpty() && (await findDaemon()) === undefined) throw nothingYet();
      return targetOf(await ensureDaemon({ onProgress: (sentence) => out.note(sentence) }));
    })
  );
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

export function localClient(daemon: RunningDaemon): Client {
  return createClient(targetOf(daemon));
}

function targetOf({ socket }: RunningDaemon): ClientTarget {
  const token = process.env.IMAGO_TOKEN;
  return { socketPath: socket, isRunning: isDaemonThere, ...(token ? { token } : {}) };
}

function nothingYet(): ImagoError {
  return new ImagoError(
    'daemon-not-running',
    `No daemon runs and ${stateFolder()} holds no data yet, so nothing was started.`,
    { hint: 'Start it with `imago up`, or with a first build: `imago init`, then `imago build`.' },
  );
}

function connectRemote(): Client | undefined {
  const { IMAGO_URL: url, IMAGO_TOKEN: token, IMAGO_CA: ca } = process.env;
  if (!url) return undefined;
  if (!token) {
    throw new ImagoError('usage-invalid', 'IMAGO_URL is set but IMAGO_TOKEN is not.', {
      hint: 'Get a token with `imago token create` on the machine of the daemon.',
    });
  }
  if (!URL.canParse(url)) {
    throw new ImagoError('usage-invalid', `IMAGO_URL is ${JSON.stringify(url)}.`, {
      hint: 'It must be an address such as https://imago.example.com:7443.',
    });
  }
  return createClient({ url, token, ...(ca ? { ca: readCa(ca) } : {}) });
}

function readCa(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    throw new ImagoError('file-missing', `IMAGO_CA is ${path}, which cannot be read.`, { cause: error });
  }
}
