// Opens an http address for reading. Redirects are followed, and each hop passes the guard like the first.
import {
  type IncomingHttpHeaders,
  type IncomingMessage,
  request as plainRequest,
  type RequestOptions,
} from 'node:http';
import { request as tlsRequest } from 'node:https';
import type { AddressGuard } from './address-guard.ts';

export interface OpenedAddress {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: IncomingMessage;
}

export interface OpenOptions {
  readonly headers: Readonly<Record<string, string>>;
  readonly signal: AbortSignal;
  readonly guard: AddressGuard;
  /** `HEAD` asks for the headers alone. */
  readonly method?: 'GET' | 'HEAD';
}

const maxRedirects = 5;

/** Rejects with `address-refused`, or with the reason why nothing came. */
export async function openAddress(address: string, options: OpenOptions): Promise<OpenedAddress> {
  let url = new URL(address);
  for (let hops = 0; ; hops += 1) {
    options.guard.check(url);
    const { headers, signal, guard, method = 'GET' } = options;
    const body = await ask(url, { headers, signal, method, lookup: guard.lookupFor(url), agent: false });
    const status = body.statusCode ?? 0;
    const { location } = body.headers;
    if (![301, 302, 303, 307, 308].includes(status) || location === undefined) {
      return { status, headers: body.headers, body };
    }
    body.destroy();
    if (hops >= maxRedirects || !URL.canParse(location, url.href))
      throw new Error('it redirects without end');
    const next = new URL(location, url);
    if (url.protocol === 'https:' && next.protocol === 'http:')
      throw new Error('it redirects from https to http');
    url = next;
  }
}

/** Reads a text. Rejects if the answer is not 200, or longer than `maxBytes`. */
export async function readAddress(
  address: string,
  options: OpenOptions & { readonly maxBytes: number },
): Promise<string> {
  const { status, body } = await openAddress(address, options);
  try {
    if (status !== 200) throw new Error(`${address} answered ${status}`);
    const chunks: Buffer[] = [];
    let bytes = 0;
    for await (const chunk of body as AsyncIterable<Buffer>) {
      bytes += chunk.length;
      if (bytes > options.maxBytes)
        throw new Error(`${address} answered more than ${options.maxBytes} bytes`);
      chunks.push(chunk);
    }
    return Buffer.concat(chunks).toString('utf8');
  } finally {
    body.destroy();
  }
}

function ask(url: URL, options: RequestOptions): Promise<IncomingMessage> {
  const request = url.protocol === 'https:' ? tlsRequest : plainRequest;
  return new Promise((resolve, reject) => {
    const asking = request(url, options, resolve);
    asking.on('error', reject);
    asking.end();
  });
}
