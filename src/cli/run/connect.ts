// Connects to the daemon: over the socket of the state directory, or to the API of another host with IMAGO_URL, which a
// context sets. IMAGO_TOKEN identifies the caller in both cases.
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

/** Returns the client. Its first request starts the daemon if none is running, unless it reads from an empty home. */
export async function connect(out: Output): Promise<Client> {
  return (
    connectRemote() ??
    createClient(async (method) => {
      if (method === 'GET' && isHomeEmpty() && (await findDaemon()) === undefined) throw nothingYet();
      return targetOf(await ensureDaemon({ onProgress: (message) => out.note(message) }));
    })
  );
}

/** Restarts the daemon of this host if it exited. One on another host restarts on its own. */
export async function ensureLocalDaemon(): Promise<void> {
  if (!process.env.IMAGO_URL) await ensureDaemon();
}

/** Returns the client of a running daemon; `undefined` if none is running. */
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
    `No daemon is running and ${stateFolder()} contains no data yet, so nothing was started.`,
    { hint: 'Start it with `imago up`, or with a first build: `imago init`, then `imago build`.' },
  );
}

function connectRemote(): Client | undefined {
  const { IMAGO_URL: url, IMAGO_TOKEN: token, IMAGO_CA: ca } = process.env;
  return url ? remoteClient(url, token, ca) : undefined;
}

/** `ca` is a file, or the certificates themselves. */
export function remoteClient(url: string, token: string | undefined, ca?: string): Client {
  if (!token) {
    throw new ImagoError('usage-invalid', `There is no token for ${url}.`, {
      hint: "Create a token with `imago token create` on the daemon's host, and store it with `imago login`.",
    });
  }
  if (!/^https?:/.test(url) || !URL.canParse(url)) {
    throw new ImagoError('usage-invalid', `${JSON.stringify(url)} is not the URL of a daemon.`, {
      hint: 'Give a URL such as https://imago.example.com:7443.',
    });
  }
  return createClient({ url, token, ...(ca ? { ca: readCa(ca) } : {}) });
}

function readCa(path: string): string {
  if (path.startsWith('-----BEGIN')) return path;
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    throw new ImagoError('file-missing', `Cannot read ${path}, which IMAGO_CA names.`, { cause: error });
  }
}
