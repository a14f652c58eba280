// Listens for the API on a Unix socket, and on a TCP port if requested. It is open before the daemon has started, so that
// clients are asked to wait instead of starting another daemon.
import { randomUUID } from 'node:crypto';
import { readFileSync, rmSync, statSync } from 'node:fs';
import { createServer, type RequestListener, type Server, type ServerOptions } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { isLoopbackHost } from '../../domain/access/loopback.ts';
import { type ErrorRecord, ImagoError } from '../../domain/error/imago-error.ts';
import { fingerprintOf } from './own-certificate.ts';
import { problemDocument } from './response/problem.ts';

/** Bodies have separate deadlines, because an upload can take hours. */
const serverOptions: ServerOptions = {
  /** For the head of a request, against clients that send it slowly. */
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
  /** Files in PEM form. Required beyond loopback. `ca` is what clients must trust, if the daemon signed the certificate. */
  readonly tls?: { readonly certificate: string; readonly key: string; readonly ca?: string };
}

export interface Listener {
  /** `HOST:PORT` with the actual port; absent if only the Unix socket is open. */
  readonly tcp?: string;
  /** The certificate by which clients identify this daemon; absent without TLS. */
  readonly tls?: { readonly fingerprint: string; readonly ca?: string };
  /** Passes requests to the handler from now on, instead of responding that the daemon is starting. */
  serve(handler: RequestListener): void;
  /** Refuses requests again, with the reason. */
  refuse(reason: ErrorRecord): void;
  /** Returns whether the socket file is still the one that was created. */
  intact(): boolean;
  /** Accepts no more requests, waits `graceMs` for those in progress, then closes their connections. */
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

/** A certificate that the daemon signed is identified by its authority, which stays when the certificate is renewed. */
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
    EADDRINUSE: 'another process uses it',
    EADDRNOTAVAIL: 'this host does not have that address',
    EACCES: 'permission is denied',
    ENOTFOUND: 'the name is not known',
  };
  const reason = reasons[String(error.code)] ?? error.message;
  return new ImagoError('listen-failed', `Cannot listen on ${host}:${port}: ${reason}.`, {
    cause: error,
    hint: 'Use another address with `imago up --listen HOST:PORT`, or none with `imago config unset listen`.',
  });
}

/** Responds to every request with the same problem document. */
function refusal(reason: ErrorRecord): RequestListener {
  const { message, hint, code: cause } = reason;
  const error = new ImagoError('daemon-starting', message, {
    ...{ httpStatus: 503, retryable: true, details: { cause } },
    ...(hint !== undefined && { hint }),
  });
  return (_request, response) => {
    response.writeHead(503, {
      'content-type': 'application/problem+json',
      'retry-after': '1',
      connection: 'close',
    });
    response.end(JSON.stringify(problemDocument(error, randomUUID())));
  };
}

/** Limits the number of connections over TCP, and how long one can be idle. */
function limitTcpServer<T extends Server>(server: T): T {
  server.maxConnections = MAX_CONNECTIONS;
  server.timeout = IDLE_MS;
  return server;
}
