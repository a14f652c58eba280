// Sends one delivery. The name is resolved once, every address that it stands for is looked at, and the connection goes
// to the address that was looked at: a name that points elsewhere a moment later reaches nothing private.
import { createHmac } from 'node:crypto';
import { lookup } from 'node:dns/promises';
import { request as httpRequest, type IncomingMessage, type RequestOptions } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { isIP, type LookupFunction } from 'node:net';
import { ImagoError } from '../../domain/error/imago-error.ts';
import { isPrivateAddress } from '../../domain/webhook/address.ts';

export interface Address {
  readonly address: string;
  readonly family: number;
}

export type Resolve = (host: string) => Promise<readonly Address[]>;

export interface Post {
  readonly url: URL;
  readonly allowPrivate: boolean;
  /** The same for every try of one delivery. */
  readonly id: string;
  readonly body: string;
  /** `whsec_…` */
  readonly secret: string;
  /** Seconds since 1970. */
  readonly timestamp: number;
  readonly signal: AbortSignal;
}

const deadlineMs = 15_000;
const checkDeadlineMs = 5_000;

const systemResolve: Resolve = (host) => lookup(host, { all: true });

/** What the other side answered. Throws `webhook-address`, or what kept it from being reached. */
export async function postWebhook(post: Post, resolve: Resolve = systemResolve): Promise<number> {
  const { url, id, body, timestamp } = post;
  const signal = AbortSignal.any([post.signal, AbortSignal.timeout(deadlineMs)]);
  const addresses = await checkedAddresses(url, post.allowPrivate, resolve, signal);
  const headers = {
    'content-type': 'application/cloudevents+json; charset=utf-8',
    'content-length': Buffer.byteLength(body),
    'user-agent': 'imago-webhooks',
    'webhook-id': id,
    'webhook-timestamp': String(timestamp),
    'webhook-signature': signWebhook(post.secret, id, timestamp, body),
  };
  const answer = await send(url, { method: 'POST', headers, signal, lookup: answering(addresses) }, body);
  answer.destroy();
  return answer.statusCode ?? 0;
}

/** `v1,` and the base64 of the HMAC-SHA256, as Standard Webhooks has it. */
export function signWebhook(secret: string, id: string, timestamp: number, body: string): string {
  const key = Buffer.from(secret.replace(/^whsec_/, ''), 'base64');
  return `v1,${createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64')}`;
}

/** Refuses an address that is private now. A name that nobody knows yet is no reason to refuse. */
export async function checkWebhookAddress(
  url: URL,
  allowPrivate: boolean,
  resolve: Resolve = systemResolve,
): Promise<void> {
  try {
    await checkedAddresses(url, allowPrivate, resolve, AbortSignal.timeout(checkDeadlineMs));
  } catch (thrown) {
    if (thrown instanceof ImagoError && thrown.code === 'webhook-address') throw thrown;
  }
}

async function checkedAddresses(
  url: URL,
  allowPrivate: boolean,
  resolve: Resolve,
  signal: AbortSignal,
): Promise<readonly Address[]> {
  const host = url.hostname.replace(/^\[|\]$/g, '');
  const family = isIP(host);
  const addresses = family === 0 ? await within(resolve(host), signal) : [{ address: host, family }];
  const inside = addresses.find(({ address }) => isPrivateAddress(address));
  if (inside !== undefined && !allowPrivate) {
    throw new ImagoError(
      'webhook-address',
      family === 0
        ? `${host} stands for ${inside.address}, which is a private address.`
        : `${host} is a private address.`,
    );
  }
  return addresses;
}

/** Names are looked up by the system, which cannot be told to stop. */
function within<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const stop = () => reject(signal.reason as Error);
    if (signal.aborted) stop();
    signal.addEventListener('abort', stop, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', stop));
  });
}

function answering(addresses: readonly Address[]): LookupFunction {
  return (_host, options, answer) => {
    const [first] = addresses;
    if (first === undefined) answer(new Error('The name stands for no address.'), '');
    else if (options.all) answer(null, [...addresses]);
    else answer(null, first.address, first.family);
  };
}

function send(url: URL, options: RequestOptions, body: string): Promise<IncomingMessage> {
  const request = url.protocol === 'http:' ? httpRequest : httpsRequest;
  return new Promise((resolve, reject) => {
    const asking = request(url, { ...options, agent: false }, resolve);
    asking.on('error', reject);
    asking.end(body);
  });
}
