// Sends single HTTPS requests to Azure over connections that are kept open.
import type { IncomingHttpHeaders } from 'node:http';
import { Agent, request as sendRequest } from 'node:https';
import { ImagoError } from '../../../domain/error/imago-error.ts';

export interface HttpRequest {
  readonly method: string;
  readonly url: URL;
  readonly headers?: Readonly<Record<string, string | number>>;
  readonly body?: Uint8Array | string | undefined;
  readonly signal: AbortSignal;
}

export interface HttpReply {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

export interface Transport {
  /** Throws `provider-no-reply` if no complete reply arrives, and the reason of the signal if it is aborted. */
  send(request: HttpRequest): Promise<HttpReply>;
  close(): void;
}

const idleMs = 60_000;
const largestReply = 64 * 2 ** 20;
const trust = /CERT|SELF_SIGNED|ALTNAME|UNABLE_TO_VERIFY/;

/** `ca` is the certificate authority of an emulator; absent: those that Node trusts. */
export function openTransport(ca: string | undefined): Transport {
  const agent = new Agent({
    ...{ keepAlive: true, maxSockets: 32, proxyEnv: process.env },
    ...(ca === undefined ? {} : { ca }),
  });
  return { send: (request) => send(agent, request), close: () => agent.destroy() };
}

function send(agent: Agent, { method, url, headers = {}, body, signal }: HttpRequest): Promise<HttpReply> {
  const length = body === undefined ? {} : { 'content-length': Buffer.byteLength(body) };
  return new Promise((resolve, reject) => {
    if (signal.aborted) return reject(signal.reason);
    const sent = sendRequest(url, { method, agent, headers: { ...headers, ...length }, timeout: idleMs });
    const stop = () => {
      reject(signal.reason);
      sent.destroy();
    };
    const fail = (error: unknown) => reject(signal.aborted ? signal.reason : noReply(method, url, error));
    signal.addEventListener('abort', stop, { once: true });
    sent
      .on('timeout', () => sent.destroy(new Error(`nothing arrived for ${idleMs / 1000} s`)))
      .on('error', fail)
      .on('close', () => signal.removeEventListener('abort', stop))
      .on('response', (response) => {
        const chunks: Buffer[] = [];
        let size = 0;
        response
          .on('data', (chunk: Buffer) => {
            size += chunk.length;
            if (size > largestReply) sent.destroy(new Error('the reply is too large'));
            else chunks.push(chunk);
          })
          .on('error', fail)
          .on('end', () =>
            resolve({
              status: response.statusCode ?? 0,
              headers: response.headers,
              body: Buffer.concat(chunks),
            }),
          );
      })
      .end(body);
  });
}

/** Names the host only: the rest of an address can hold a signature. */
function noReply(method: string, { host }: URL, error: unknown): ImagoError {
  const { code, message } = error as NodeJS.ErrnoException;
  const isTrust = code !== undefined && trust.test(code);
  return new ImagoError('provider-no-reply', `${method} to ${host} had no reply: ${code ?? message}.`, {
    cause: error,
    retryable: !isTrust,
    ...(isTrust ? { hint: 'The setting azure-ca names the certificate authority of an emulator.' } : {}),
  });
}
