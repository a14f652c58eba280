// One HTTP exchange, with a limit on silence and on what is read. Node's own client, because uploads need
// an exact length, an answer may come before a body is sent, and a lost connection must be distinguished from an error.
import {
  type ClientRequest,
  type IncomingHttpHeaders,
  type IncomingMessage,
  Agent as PlainAgent,
  request as plainRequest,
} from 'node:http';
import { Agent as TlsAgent, request as tlsRequest } from 'node:https';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { throwIfAborted } from '../../async/abort.ts';
import { ImagoError } from '../../domain/error/imago-error.ts';
import type { AddressGuard } from '../../host/network/address-guard.ts';

export interface HttpBody {
  readonly length: number;
  /** Called once for every try. */
  open(): Readable | Uint8Array;
}

export interface HttpRequest {
  readonly method: 'GET' | 'HEAD' | 'POST' | 'PATCH' | 'PUT' | 'DELETE';
  readonly url: URL;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: HttpBody | undefined;
  readonly signal?: AbortSignal | undefined;
}

export interface HttpResponse {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: IncomingMessage;
}

export interface HttpClient {
  /** Resolves with any answer; rejects with a retryable `registry-failed` when there is none. */
  send(request: HttpRequest): Promise<HttpResponse>;
  close(): void;
}

export function httpClient(options: {
  readonly connections: number;
  readonly idleTimeoutMs: number;
  readonly guard: AddressGuard;
}): HttpClient {
  const settings = { keepAlive: true, maxSockets: options.connections };
  const agents = { plain: new PlainAgent(settings), tls: new TlsAgent(settings) };
  return {
    async send(request) {
      throwIfAborted(request.signal);
      try {
        options.guard.check(request.url);
        return await exchange(request, agents, options);
      } catch (cause) {
        throwIfAborted(request.signal);
        if (cause instanceof ImagoError && cause.code === 'address-refused') throw cause;
        throw lostConnection(request.url, cause);
      }
    },
    close() {
      agents.plain.destroy();
      agents.tls.destroy();
    },
  };
}

function exchange(
  { method, url, headers, body, signal }: HttpRequest,
  agents: { plain: PlainAgent; tls: TlsAgent },
  { idleTimeoutMs, guard }: { readonly idleTimeoutMs: number; readonly guard: AddressGuard },
): Promise<HttpResponse> {
  return new Promise((resolve, reject) => {
    const lengthHeader: Record<string, string> =
      body === undefined && (method === 'GET' || method === 'HEAD')
        ? {}
        : { 'content-length': String(body?.length ?? 0) };
    const settings = {
      method,
      headers: { ...headers, ...lengthHeader },
      lookup: guard.lookupFor(url),
      ...(signal === undefined ? {} : { signal }),
    };
    const request =
      url.protocol === 'https:'
        ? tlsRequest(url, { ...settings, agent: agents.tls })
        : plainRequest(url, { ...settings, agent: agents.plain });
    let answered = false;
    request.setTimeout(idleTimeoutMs, () => request.destroy(new Error(`no byte in ${idleTimeoutMs} ms`)));
    request.on('error', reject);
    request.on('response', (response) => {
      answered = true;
      resolve({ status: response.statusCode ?? 0, headers: response.headers, body: response });
    });
    sendBody(request, body).catch((error: unknown) => {
      if (!answered) reject(error);
    });
  });
}

/** An answer may end the sending early: then the rest of the body is of no interest. */
async function sendBody(request: ClientRequest, body: HttpBody | undefined): Promise<void> {
  const content = body?.open();
  if (content === undefined || content instanceof Uint8Array) {
    request.end(content);
    return;
  }
  request.once('response', () => content.destroy());
  await pipeline(content, request);
}

/** Returns the body if it is at most `limit` bytes long; a longer one is an error. */
export async function readBody(response: HttpResponse, limit: number): Promise<Buffer> {
  const parts: Buffer[] = [];
  let size = 0;
  try {
    for await (const part of response.body) {
      size += part.length;
      if (size > limit) break;
      parts.push(part);
    }
  } catch (cause) {
    throw new ImagoError('registry-failed', 'the registry broke off in the middle of an answer', { cause });
  }
  if (size > limit) {
    response.body.destroy();
    throw new ImagoError('registry-failed', `the registry sent more than ${limit} bytes`, {
      retryable: false,
    });
  }
  return Buffer.concat(parts);
}

/** Frees the connection of an answer whose body does not matter. */
export async function discard(response: HttpResponse): Promise<void> {
  await readBody(response, 64 * 1024).catch(() => response.body.destroy());
}

interface Remedy {
  readonly hint: string;
  /** Nothing comes of trying again. */
  readonly isLasting?: true;
}

function lostConnection(url: URL, cause: unknown): ImagoError {
  const { hint, isLasting } = remedyOf(url, cause);
  const why = cause instanceof Error ? cause.message || codeOf(cause) : String(cause);
  return new ImagoError('registry-failed', `${url.host} did not answer: ${why}`, {
    ...{ cause, hint },
    ...(isLasting && { retryable: false }),
  });
}

function remedyOf({ host, hostname, protocol }: URL, cause: unknown): Remedy {
  const code = codeOf(cause);
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN') {
    return {
      hint: `No address is known for ${hostname}: check how it is spelled, and this machine's name servers.`,
    };
  }
  if (code === 'ECONNREFUSED') {
    return { hint: `Nothing listens at ${host}: check the host and the port, and that the registry runs.` };
  }
  if (/^(?:CERT_|ERR_TLS_CERT|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO)/.test(code)) {
    return {
      hint: 'Its certificate is not trusted here. Name that of its authority in NODE_EXTRA_CA_CERTS, and start the daemon with it.',
      isLasting: true,
    };
  }
  if (protocol === 'https:' && (code === 'EPROTO' || code.startsWith('ERR_SSL'))) {
    return {
      hint: `${host} does not speak TLS. Imago goes without it on this machine alone (localhost, 127.0.0.1).`,
      isLasting: true,
    };
  }
  return { hint: 'Check the network, and that the registry runs. What was sent already is not sent again.' };
}

/** Node gives one error for all addresses of a host, which has a code and no message. */
function codeOf(cause: unknown): string {
  return cause instanceof Error && 'code' in cause ? String(cause.code) : '';
}
