// One HTTP exchange with a daemon, over its Unix socket or a URL. Distinguishes three failures: no daemon, a daemon that
// does not respond, and a connection that was lost after the request may have taken effect.
import type { ClientRequest, IncomingMessage, OutgoingHttpHeaders } from 'node:http';
import { isLoopbackHost } from '../../domain/access/loopback.ts';
import { ImagoError } from '../../domain/error/imago-error.ts';

export type ClientTarget =
  | {
      readonly socketPath: string;
      /** Without a token the caller has all rights of the daemon's own user. */
      readonly token?: string;
      /** Whether the daemon's process exists: one that restarts in place has no socket for a moment. */
      readonly isRunning?: () => boolean;
    }
  | {
      readonly url: string;
      readonly token: string;
      /** Certificates to trust in addition to those of the system, as PEM. */
      readonly ca?: string;
    };

export interface ExchangeRequest {
  readonly method: string;
  /** The path with its query. */
  readonly path: string;
  readonly headers: OutgoingHttpHeaders;
  readonly body?: string | AsyncIterable<Uint8Array> | undefined;
  readonly signal?: AbortSignal;
  /** The time limit for the head of the response. */
  readonly timeoutMs: number;
}

/** Returns the response when its head has arrived. The caller reads the body, until the signal aborts. */
export async function exchange(target: ClientTarget, asked: ExchangeRequest): Promise<IncomingMessage> {
  asked.signal?.throwIfAborted();
  const request = await open(target, asked);
  const place = describeTarget(target);
  return new Promise((resolve, reject) => {
    let settled = false;
    function fail(error: unknown): void {
      settled = true;
      clearTimeout(timer);
      asked.signal?.removeEventListener('abort', onAbort);
      request.destroy();
      reject(error);
    }
    const onAbort = () => fail(asked.signal?.reason);
    const timer = setTimeout(() => fail(notAnswering(place, asked.timeoutMs)), asked.timeoutMs);
    asked.signal?.addEventListener('abort', onAbort, { once: true });
    request.on('error', (error) => {
      if (!settled) fail(connectionError(error, place));
    });
    request.on('response', (response) => {
      settled = true;
      clearTimeout(timer);
      asked.signal?.removeEventListener('abort', onAbort);
      destroyOnAbort(response, asked.signal);
      resolve(response);
    });
    send(request, asked.body).catch((error: unknown) => {
      if (!settled) fail(error);
    });
  });
}

/** Reads the body as text. Throws if it is truncated. */
export async function readText(response: IncomingMessage, signal?: AbortSignal): Promise<string> {
  const chunks: Buffer[] = [];
  try {
    for await (const chunk of response) chunks.push(chunk as Buffer);
  } catch (error) {
    signal?.throwIfAborted();
    throw connectionLost('The connection to the daemon was lost during the response.', error);
  }
  return Buffer.concat(chunks).toString('utf8');
}

export function connectionLost(message: string, cause?: unknown): ImagoError {
  return new ImagoError('daemon-connection-lost', message, { cause, retryable: true });
}

function destroyOnAbort(response: IncomingMessage, signal: AbortSignal | undefined): void {
  const onAbort = () => response.destroy();
  signal?.addEventListener('abort', onAbort, { once: true });
  response.once('close', () => signal?.removeEventListener('abort', onAbort));
}

// Not `import`, which reads every export of node:http, and one of them loads a WebSocket client.
async function open(target: ClientTarget, asked: ExchangeRequest): Promise<ClientRequest> {
  const { method, path } = asked;
  const { token } = target;
  const headers = { ...asked.headers, ...(token !== undefined && { authorization: `Bearer ${token}` }) };
  if ('socketPath' in target) {
    const { request } = process.getBuiltinModule('node:http');
    const { connect } = process.getBuiltinModule('node:net');
    return request({
      createConnection: () => connect(target.socketPath),
      method,
      path,
      headers: { ...headers, host: 'localhost' },
    });
  }
  const url = new URL(path, target.url);
  if (url.protocol !== 'https:' && !isLoopbackHost(url.hostname)) {
    throw new ImagoError('tls-required', `Imago does not send a token to ${url.origin} in clear text.`);
  }
  if (url.protocol === 'https:') {
    const [{ request }, tls] = await Promise.all([import('node:https'), import('node:tls')]);
    const ca = target.ca === undefined ? undefined : [...tls.rootCertificates, target.ca];
    return request(url, { method, agent: false, headers, ca });
  }
  const { request } = process.getBuiltinModule('node:http');
  return request(url, { method, agent: false, headers });
}

async function send(request: ClientRequest, body: ExchangeRequest['body']): Promise<void> {
  if (body === undefined || typeof body === 'string') {
    request.end(body);
    return;
  }
  // The body can start long after the head: a shell waits for the first key.
  request.flushHeaders();
  const { Readable } = await import('node:stream');
  const { pipeline } = await import('node:stream/promises');
  await pipeline(Readable.from(body, { objectMode: false }), request).catch((error: unknown) => {
    // The response, or the error of the request, has the reason why the daemon stopped reading.
    if (!request.destroyed) throw error;
  });
}

function describeTarget(target: ClientTarget): string {
  return 'socketPath' in target ? target.socketPath : new URL(target.url).origin;
}

const unreachableCodes = new Set([
  'ENOENT',
  'ECONNREFUSED',
  'ENOTFOUND',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOTSOCK',
]);

/** Maps an error before the response, by its system code. */
export function connectionError(error: Error & { code?: string }, place: string): ImagoError {
  const code = error.code ?? '';
  if (unreachableCodes.has(code)) {
    return new ImagoError('daemon-not-running', `No daemon is reachable at ${place} (${code}).`, {
      cause: error,
    });
  }
  if (code === 'EACCES' || code === 'EPERM') {
    return new ImagoError('daemon-not-running', `You do not have permission to use the socket ${place}.`, {
      cause: error,
      hint: 'The daemon belongs to another user: request a token, or start your own daemon with another IMAGO_HOME.',
    });
  }
  if (/CERT|VERIFY|^ERR_(?:TLS|SSL)|^EPROTO$/.test(code)) {
    return new ImagoError(
      'daemon-answer-invalid',
      `The certificate of ${place} is not trusted: ${error.message}.`,
      {
        cause: error,
        hint: 'Set IMAGO_CA to its CA file (`ca` in `imago status` on that host), and use a name of its certificate.',
      },
    );
  }
  return connectionLost(`The connection to ${place} was lost: ${error.message}.`, error);
}

function notAnswering(place: string, timeoutMs: number): ImagoError {
  return new ImagoError(
    'daemon-not-answering',
    `The daemon at ${place} did not respond within ${Math.round(timeoutMs / 1000)} s.`,
  );
}
