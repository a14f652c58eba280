// Sends one delivery, to an address that passed the address guard.
import { createHmac } from 'node:crypto';
import { request as httpRequest, type IncomingMessage, type RequestOptions } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { within } from '../../async/deadline.ts';
import { ImagoError } from '../../domain/error/imago-error.ts';
import { addressGuard, type Resolve } from '../../host/network/address-guard.ts';

export interface Post {
  readonly url: URL;
  readonly allowPrivate: boolean;
  /** The same for every attempt of a delivery. */
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

/** Returns the status of the response. Throws `webhook-address`, or the connection error. */
export async function postWebhook(post: Post, resolve?: Resolve): Promise<number> {
  const { url, id, body, timestamp } = post;
  const signal = AbortSignal.any([post.signal, AbortSignal.timeout(deadlineMs)]);
  const guard = addressGuard({ allow: [], refusePrivate: !post.allowPrivate }, resolve);
  const headers = {
    'content-type': 'application/cloudevents+json; charset=utf-8',
    'content-length': Buffer.byteLength(body),
    'user-agent': 'imago-webhooks',
    'webhook-id': id,
    'webhook-timestamp': String(timestamp),
    'webhook-signature': signWebhook(post.secret, id, timestamp, body),
  };
  try {
    guard.check(url);
    const answer = await send(url, { method: 'POST', headers, signal, lookup: guard.lookupFor(url) }, body);
    answer.destroy();
    return answer.statusCode ?? 0;
  } catch (thrown) {
    throw webhookRefused(thrown) ?? (signal.aborted ? signal.reason : thrown);
  }
}

/** Returns the signature as in Standard Webhooks: `v1,` and the HMAC-SHA256 in base64. */
function signWebhook(secret: string, id: string, timestamp: number, body: string): string {
  const key = Buffer.from(secret.replace(/^whsec_/, ''), 'base64');
  return `v1,${createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64')}`;
}

/** Refuses an address that is private now. A name that does not resolve yet is accepted. */
export async function checkWebhookAddress(url: URL, allowPrivate: boolean, resolve?: Resolve): Promise<void> {
  const check = addressGuard({ allow: [], refusePrivate: !allowPrivate }, resolve).checkName(url);
  if (!(await within(check, checkDeadlineMs))) return;
  await check.catch((thrown) => {
    throw webhookRefused(thrown) ?? thrown;
  });
}

function webhookRefused(thrown: unknown): ImagoError | undefined {
  if (!(thrown instanceof ImagoError) || thrown.code !== 'address-refused') return undefined;
  return new ImagoError('webhook-address', thrown.message, { cause: thrown });
}

function send(url: URL, options: RequestOptions, body: string): Promise<IncomingMessage> {
  const request = url.protocol === 'http:' ? httpRequest : httpsRequest;
  return new Promise((resolve, reject) => {
    const asking = request(url, { ...options, agent: false }, resolve);
    asking.on('error', reject);
    asking.end(body);
  });
}
