// The API's transport: a Unix socket, and a TCP port when asked for. It is open from the first moment, so that
// those who come while the daemon starts are told to wait instead of starting another one.
import { randomUUID } from 'node:crypto';
import { readFileSync, rmSync, statSync } from 'node:fs';
import { createServer, type RequestListener, type Server, type ServerOptions } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { isLoopbackHost } from '../../domain/access/loopback.ts';
import { errorCatalogue } from '../../domain/error/catalog.ts';
import { type ErrorRecord, ImagoError } from '../../domain/error/imago-error.ts';
import { fingerprintOf } from './own-certificate.ts';

/** Given when the server is made. Bodies have deadlines of their own, because an upload may take hours. */
const serverOptions: ServerOptions = {
  /** For the head of a request: those who send it letter by letter are cut off. */
  headersTimeout: 10_000,
  connectionsCheckingInterval: 5_000,
  requestTimeout: 0,
  keepAliveTimeout: 5_000,
  maxHeaderSize: 16 * 1024,
};

const IDLE_MS = 600_000;
const MAX_CONNECTIONS = 1000;

export interface TcpOptions {
  readonly host: string;
  readonly port: number;
  /** Files in PEM form. Required beyond loopback. `ca` is what clients must trust, if the certificate is our own. */
  readonly tls?: { readonly certificate: string; readonly key: string; readonly ca?: string };
}

export interface Listener {
  /** `HOST:PORT` with the port that was really taken; absent when only the Unix socket is open. */
  readonly tcp?: string;
  /** What clients can check that they reached this daemon by; absent without TLS. */
  readonly tls?: { readonly fingerprint: string; readonly ca?: string };
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
      if (tcp.tls === undefined && !isLoopbackHost(tcp.host)) {
        throw new ImagoError(
          'tls-required',
          `${tcp.host} is not loopback, and there is no certificate for it.`,
        );
      }
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
    ...(tcp?.tls === undefined ? {} : { tls: describeTls(tcp.tls) }),
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

/** A certificate of our own is known by its authority, which stays when the certificate is renewed. */
function describeTls({ certificate, ca }: NonNullable<TcpOptions['tls']>): NonNullable<Listener['tls']> {
  return { fingerprint: fingerprintOf(readPem(ca ?? certificate)), ...(ca === undefined ? {} : { ca }) };
}

function tcpServer(tcp: TcpOptions, dispatch: RequestListener): Server {
  if (tcp.tls === undefined) return createServer(serverOptions, dispatch);
  const { certificate, key } = tcp.tls;
  const pair = { cert: readPem(certificate), key: readPem(key) };
  try {
    return createTlsServer({ ...serverOptions, ...pair, minVersion: 'TLSv1.2' }, dispatch);
  } catch (error) {
    throw new ImagoError(
      'tls-required',
      `${certificate} and ${key} cannot be used: ${(error as Error).message}.`,
      {
        cause: error,
        hint: 'Pass a certificate chain and its private key in PEM form: `imago up --tls-cert FILE --tls-key FILE`.',
      },
    );
  }
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
  return new ImagoError('listen-failed', `Cannot listen on ${host}:${port}: ${reason}.`, {
    cause: error,
    hint: 'Name another address with `imago up --listen HOST:PORT`, or none with `imago config unset listen`.',
  });
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

/** Over TCP, also how many connections there may be, and how long one may neither send nor take anything. */
function limitTcpServer<T extends Server>(server: T): T {
  server.maxConnections = MAX_CONNECTIONS;
  server.timeout = IDLE_MS;
  return server;
}
