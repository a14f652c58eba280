// Sends requests to an API server over HTTP with the credentials of the connection, each with a deadline.
import { Agent as HttpAgent, request as httpRequest, type IncomingMessage } from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import { throwIfAborted } from '../../async/abort.ts';
import { ImagoError } from '../../domain/error/imago-error.ts';
import type { Connection } from './kubeconfig.ts';
import type { Credentials } from './sign-in.ts';

export interface KubeRequest {
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  readonly path: string;
  readonly query?: Readonly<Record<string, string | undefined>> | undefined;
  readonly body?: unknown;
  readonly contentType?: string | undefined;
  readonly signal?: AbortSignal | undefined;
  /** The limit until the response has arrived completely; for a stream, until the next bytes arrive. */
  readonly timeoutMs: number;
}

export interface KubeResponse {
  readonly status: number;
  readonly retryAfter: string | undefined;
  readonly body: string;
}

export interface Transport {
  /** Throws `cluster-unreachable` if no complete response arrives. */
  send(request: KubeRequest): Promise<KubeResponse>;
  /** Returns as soon as the response starts. */
  stream(request: KubeRequest): Promise<{ readonly status: number; readonly body: AsyncIterable<Buffer> }>;
  /** Closes idle connections. */
  close(): void;
}

const maxSockets = 64;
const maxBody = 256 * 1024 * 1024;

export function openTransport(connection: Connection): Transport {
  const { server } = connection;
  const isSecure = server.protocol === 'https:';
  let agent: { readonly cert: string | undefined; readonly of: HttpAgent } | undefined;

  function agentFor(credentials: Credentials): HttpAgent {
    if (agent?.cert !== credentials.cert || agent === undefined) {
      agent?.of.destroy();
      const proxy = connection.proxyUrl;
      const options = {
        ...{ keepAlive: true, keepAliveMsecs: 30_000, maxSockets },
        proxyEnv: proxy === undefined ? process.env : { HTTPS_PROXY: proxy, HTTP_PROXY: proxy },
      };
      const { ca, serverName: servername, skipVerify } = connection;
      const tls = {
        ...{ ca, servername, rejectUnauthorized: skipVerify !== true },
        ...{ cert: credentials.cert, key: credentials.key, minVersion: 'TLSv1.2' as const },
      };
      const defined = Object.fromEntries(Object.entries(tls).filter(([, value]) => value !== undefined));
      agent = {
        cert: credentials.cert,
        of: isSecure ? new HttpsAgent({ ...options, ...defined }) : new HttpAgent(options),
      };
    }
    return agent.of;
  }

  async function open(request: KubeRequest, signal: AbortSignal, isSecond = false): Promise<IncomingMessage> {
    const credentials = await connection.signIn.get(signal);
    const response = await exchange(request, signal, credentials);
    if (response.statusCode !== 401 || isSecond || !connection.signIn.renew()) return response;
    response.resume();
    return open(request, signal, true);
  }

  function exchange(
    { method, path, query = {}, body, contentType = 'application/json' }: KubeRequest,
    signal: AbortSignal,
    credentials: Credentials,
  ): Promise<IncomingMessage> {
    const url = new URL(`${server.pathname.replace(/\/+$/, '')}${path}`, server);
    for (const [name, value] of Object.entries(query))
      if (value !== undefined) url.searchParams.set(name, value);
    const content = body === undefined ? undefined : Buffer.from(JSON.stringify(body));
    const headers = {
      accept: 'application/json',
      'user-agent': 'imago',
      ...(credentials.authorization === undefined ? {} : { authorization: credentials.authorization }),
      ...(content === undefined ? {} : { 'content-type': contentType, 'content-length': content.length }),
    };
    return new Promise((resolve, reject) => {
      const start = isSecure ? httpsRequest : httpRequest;
      const sent = start(url, { method, headers, agent: agentFor(credentials) });
      // Not by Node's own `signal`: it ends the connection with an error that nothing handles once the
      // response has arrived completely.
      const stop = () => sent.destroy();
      if (signal.aborted) stop();
      signal.addEventListener('abort', stop);
      sent
        .on('response', (response) => {
          // A reader gets the error from its iteration. Without a reader it must not end the process.
          response.on('error', () => undefined);
          resolve(response);
        })
        .on('error', reject)
        .on('close', () => signal.removeEventListener('abort', stop))
        .end(content);
    });
  }

  /** Turns failures of the connection into errors that say what did not respond. */
  function failure(
    thrown: unknown,
    caller: AbortSignal | undefined,
    deadline: AbortSignal,
    ms: number,
  ): unknown {
    if (caller?.aborted === true) throwIfAborted(caller);
    if (thrown instanceof ImagoError) return thrown;
    const cause = thrown as NodeJS.ErrnoException;
    const reason = deadline.aborted ? `no response within ${ms / 1000} s` : describe(cause);
    const isTrust = cause.code !== undefined && /CERT|SELF_SIGNED|ALTNAME|UNABLE_TO_VERIFY/.test(cause.code);
    return new ImagoError(
      'cluster-unreachable',
      `The Kubernetes API server ${server.origin} cannot be reached: ${reason}.`,
      {
        cause,
        retryable: !isTrust,
        ...(isTrust
          ? { hint: 'Check the certificate authority and the server name in the kubeconfig.' }
          : {}),
      },
    );
  }

  return {
    async send(request) {
      const deadline = AbortSignal.timeout(request.timeoutMs);
      const signal = AbortSignal.any([deadline, ...(request.signal === undefined ? [] : [request.signal])]);
      try {
        throwIfAborted(request.signal);
        const response = await open(request, signal);
        const { statusCode: status = 0, headers } = response;
        return { status, retryAfter: headers['retry-after'], body: await readAll(response) };
      } catch (thrown) {
        throw failure(thrown, request.signal, deadline, request.timeoutMs);
      }
    },

    async stream(request) {
      const idle = new AbortController();
      const timer = setTimeout(() => idle.abort(), request.timeoutMs).unref();
      const signal = AbortSignal.any([
        idle.signal,
        ...(request.signal === undefined ? [] : [request.signal]),
      ]);
      const fail = (thrown: unknown) => failure(thrown, request.signal, idle.signal, request.timeoutMs);
      try {
        throwIfAborted(request.signal);
        const response = await open(request, signal);
        timer.refresh();
        return { status: response.statusCode ?? 0, body: chunks(response, timer, fail) };
      } catch (thrown) {
        clearTimeout(timer);
        throw fail(thrown);
      }
    },

    close() {
      agent?.of.destroy();
      agent = undefined;
    },
  };
}

async function* chunks(
  response: IncomingMessage,
  timer: NodeJS.Timeout,
  fail: (thrown: unknown) => unknown,
): AsyncGenerator<Buffer> {
  try {
    for await (const chunk of response) {
      timer.refresh();
      yield chunk as Buffer;
    }
  } catch (thrown) {
    throw fail(thrown);
  } finally {
    clearTimeout(timer);
    response.destroy();
  }
}

async function readAll(response: IncomingMessage): Promise<string> {
  const parts: Buffer[] = [];
  let length = 0;
  for await (const part of response) {
    parts.push(part as Buffer);
    length += (part as Buffer).length;
    if (length > maxBody) throw new Error(`the response exceeds ${maxBody} bytes`);
  }
  return Buffer.concat(parts).toString('utf8');
}

function describe({ code, message }: NodeJS.ErrnoException): string {
  switch (code) {
    case 'ECONNREFUSED':
      return 'it refused the connection';
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return 'its name cannot be resolved';
    case 'ECONNRESET':
      return 'the connection was lost';
    default:
      return message || String(code);
  }
}
