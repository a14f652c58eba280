// One HTTP exchange with a daemon, over its Unix socket or a URL. What breaks on the way is told apart: no
// daemon there, one that does not answer, and a connection that broke when the request may have taken effect.
import type { ClientRequest, IncomingMessage, OutgoingHttpHeaders } from 'node:http';
import { isLoopbackHost } from '../../domain/access/loopback.ts';
import { ImagoError } from '../../domain/error/imago-error.ts';

export type ClientTarget =
  | {
      readonly socketPath: string;
      /** Without a token the caller has all rights of the daemon's own user. */
      readonly token?: string;
      /** Whether the daemon's process is there: one that begins again in place has no socket for a moment. */
      readonly isRunning?: () => boolean;
    }
  | {
      readonly url: string;
      readonly token: string;
      /** Certificates to trust beside the system's own, as PEM. */
      readonly ca?: string;
    };

export interface ExchangeRequest {
  readonly method: string;
  /** With its query. */
  readonly path: string;
  readonly headers: OutgoingHttpHeaders;
  readonly body?: string | AsyncIterable<Uint8Array>;
  readonly signal?: AbortSignal;
  /** How long to wait for the head of the answer. */
  readonly timeoutMs: number;
}

/** The answer as soon as its head is there; the body is the caller's to read, until the signal is aborted. */
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

/** The whole body as text; throws when it is cut short. */
export async function readText(response: IncomingMessage, signal?: AbortSignal): Promise<string> {
  const chunks: Buffer[] = [];
  try {
    for await (const chunk of response) chunks.push(chunk as Buffer);
  } catch (error) {
    signal?.throwIfAborted();
    throw connectionLost('The connection to the daemon broke within its answer.', error);
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

// Not `import`: it looks at every export of node:http, and one of them loads a WebSocket client.
async function open(target: ClientTarget, asked: ExchangeRequest): Promise<ClientRequest> {
  const { method, path } = asked;
  const { token } = target;
  const headers = { ...asked.headers, ...(token === undefined ? {} : { authorization: `Bearer ${token}` }) };
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
    throw new ImagoError('tls-required', `A token is not sent to ${url.origin} in clear text.`);
  }
  if (url.protocol === 'https:') {
    const [{ request }, tls] = await Promise.all([import('node:https'), import('node:tls')]);
    const ca = target.ca === undefined ? undefined : [...tls.rootCertificates, target.ca];
    return request(url, { method, agent: false, headers, ...(ca === undefined ? {} : { ca }) });
  }
  const { request } = process.getBuiltinModule('node:http');
  return request(url, { method, agent: false, headers });
}

async function send(request: ClientRequest, body: ExchangeRequest['body']): Promise<void> {
  if (body === undefined || typeof body === 'string') {
    request.end(body);
    return;
  }
  // The body may begin long after the head: what is typed into a shell waits for its first key.
  request.flushHeaders();
  const { Readable } = await import('node:stream');
  const { pipeline } = await import('node:stream/promises');
  await pipeline(Readable.from(body, { objectMode: false }), request).catch((error: unknown) => {
    // The answer, or the request's own error, says why the daemon stopped reading.
    if (!request.destroyed) throw error;
  });
}

function describeTarget(target: ClientTarget): string {
  return 'socketPath' in target ? target.socketPath : new URL(target.url).origin;
}

const nobodyThere = new Set([
  'ENOENT',
  'ECONNREFUSED',
  'ENOTFOUND',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOTSOCK',
]);

/** What went wrong before there was an answer, by the system's own code for it. */
export function connectionError(error: Error & { code?: string }, place: string): ImagoError {
  const code = error.code ?? '';
  if (nobodyThere.has(code)) {
    return new ImagoError('daemon-not-running', `No daemon answers at ${place} (${code}).`, { cause: error });
  }
  if (code === 'EACCES' || code === 'EPERM') {
    return new ImagoError('daemon-not-running', `You may not use the socket ${place}.`, {
      cause: error,
      hint: 'The daemon belongs to another user: ask for a token, or start your own with another IMAGO_HOME.',
    });
  }
  if (/CERT|VERIFY|^ERR_(?:TLS|SSL)|^EPROTO$/.test(code)) {
    return new ImagoError('daemon-answer-invalid', `${place} cannot be trusted: ${error.message}.`, {
      cause: error,
      hint: 'Set IMAGO_CA to its CA file (`ca` of `imago status` on that host), and use a name that its certificate has.',
    });
  }
  return connectionLost(`The connection to ${place} broke: ${error.message}.`, error);
}

function notAnswering(place: string, timeoutMs: number): ImagoError {
  return new ImagoError(
    'daemon-not-answering',
    `The daemon at ${place} did not answer within ${Math.round(timeoutMs / 1000)} s.`,
  );
}
