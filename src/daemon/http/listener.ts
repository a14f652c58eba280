// The API's door: a Unix socket, and a TCP port when asked for. It is open from the first moment, so that
// those who come while the daemon starts are told to wait instead of starting another one.
import { randomUUID } from 'node:crypto';
import { readFileSync, rmSync, statSync } from 'node:fs';
import { createServer, type RequestListener, type Server } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { errorCatalogue } from '../../domain/error/catalog.ts';
import { type ErrorRecord, ImagoError } from '../../domain/error/imago-error.ts';
import { limitTcpServer, serverOptions } from './server-limits.ts';

export interface TcpOptions {
  /** As it was written. */
  readonly asked: string;
  readonly host: string;
  readonly port: number;
  /** Files in PEM form. Both or none. */
  readonly tls?: { readonly certificate: string; readonly key: string };
}

export interface Listener {
  /** `HOST:PORT` with the port that was really taken; absent when only the Unix socket is open. */
  readonly tcp?: string;
  /** From now on requests go here instead of to the answer "still starting". */
  serve(handler: RequestListener): void;
  /** Goes back to refusing, with what is known of the reason. */
  refuse(reason: ErrorRecord): void;
  /** Whether the socket's file is still the one that was made. */
  intact(): boolean;
  /** Takes no more requests, gives those under way `graceMs` to end, then cuts them. */
  close(graceMs: number): Promise<void>;
}

export async function openListener(socket: string, tcp: TcpOptions | undefined): Promise<Listener> {
  let handler = refusal(new ImagoError('daemon-starting', 'The daemon is still starting.').toRecord());
  const dispatch: RequestListener = (request, response) => handler(request, response);
  const servers: Server[] = [];
  rmSync(socket, { force: true });
  servers.push(await listen(createServer(serverOptions, dispatch), { path: socket }));
  const made = statSync(socket).ino;

  let address: string | undefined;
  if (tcp !== undefined) {
    try {
      const server = await listen(limitTcpServer(tcpServer(tcp, dispatch)), {
        host: tcp.host,
        port: tcp.port,
      });
      servers.push(server);
      const { port } = server.address() as AddressInfo;
      address = tcp.host.includes(':') ? `[${tcp.host}]:${port}` : `${tcp.host}:${port}`;
    } catch (error) {
      servers[0]?.close();
      throw explainListenError(error, tcp);
    }
  }
  return {
    ...(address === undefined ? {} : { tcp: address }),
    serve(next) {
      handler = next;
    },
    refuse(reason) {
      handler = refusal(reason);
    },
    intact: () => statSync(socket, { throwIfNoEntry: false })?.ino === made,
    async close(graceMs) {
      await Promise.all(servers.map((server) => closeServer(server, graceMs)));
    },
  };
}

/** Reads `HOST:PORT`, `[IPV6]:PORT` or `:PORT`. */
export function parseListen(text: string): { readonly host: string; readonly port: number } {
  const match = /^(?:\[([0-9a-fA-F:.]+)\]|([^:[\]]*)):(\d{1,5})$/.exec(text);
  const port = Number(match?.[3]);
  if (match === null || port > 65_535) {
    throw new ImagoError('usage-invalid', `Cannot listen on "${text}".`, {
      hint: 'Write HOST:PORT, for example 127.0.0.1:7070.',
    });
  }
  return { host: match[1] ?? (match[2] || '0.0.0.0'), port };
}

function tcpServer(tcp: TcpOptions, dispatch: RequestListener): Server {
  if (tcp.tls === undefined) return createServer(serverOptions, dispatch);
  return createTlsServer(
    { ...serverOptions, cert: readPem(tcp.tls.certificate), key: readPem(tcp.tls.key) },
    dispatch,
  );
}

function readPem(path: string): Buffer {
  try {
    return readFileSync(path);
  } catch (error) {
    throw new ImagoError('file-missing', `${path} cannot be read.`, { cause: error });
  }
}

function listen(server: Server, where: { path: string } | { host: string; port: number }): Promise<Server> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(where, () => {
      server.off('error', reject);
      server.on('error', () => undefined);
      resolve(server);
    });
  });
}

function closeServer(server: Server, graceMs: number): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => server.closeAllConnections(), graceMs);
    server.close(() => {
      clearTimeout(timer);
      resolve();
    });
    server.closeIdleConnections();
  });
}

function explainListenError(error: unknown, { host, port }: TcpOptions): unknown {
  if (error instanceof ImagoError || !(error instanceof Error) || !('code' in error)) return error;
  const reasons: Readonly<Record<string, string>> = {
    EADDRINUSE: 'another program has it',
    EADDRNOTAVAIL: 'this machine has no such address',
    EACCES: 'permission is denied',
    ENOTFOUND: 'the name is not known',
  };
  const reason = reasons[String(error.code)] ?? error.message;
  return new ImagoError('listen-failed', `Cannot listen on ${host}:${port}: ${reason}.`, { cause: error });
}

/** Every request gets the same problem document, as the API's own errors look. */
function refusal(reason: ErrorRecord): RequestListener {
  const { message, hint } = reason;
  const entry = errorCatalogue['daemon-starting'];
  return (_request, response) => {
    const problem = {
      type: 'urn:imago:error:daemon-starting',
      title: entry.when,
      status: 503,
      detail: message,
      code: 'daemon-starting',
      kind: entry.kind,
      ...(hint === undefined ? {} : { hint }),
      retryable: true,
      requestId: randomUUID(),
      details: { cause: reason.code },
    };
    response.writeHead(503, {
      'content-type': 'application/problem+json',
      'retry-after': '1',
      connection: 'close',
    });
    response.end(JSON.stringify(problem));
  };
}
