// Webhooks: what others are told of, in which form, and when a delivery that failed is tried again. The form is
// CloudEvents 1.0 in JSON; headers and signature are those of Standard Webhooks.
import { ImagoError } from '../error/imago-error.ts';
import type { Json } from '../value/json.ts';
import { quote } from '../value/quote.ts';
import { nearest } from '../value/suggest.ts';

/** What can be asked for, with what it means. The steps of operations have a stream of events of their own. */
export const webhookEvents = {
  'channel.moved': 'a channel points at another version',
  'channel.added': 'an image has a new channel',
  'channel.deleted': 'a channel was taken away',
  'version.added': 'a new version was sealed',
  'version.state': 'a version became available, deprecated, withdrawn or deleted',
  'withdrawal.asked': 'someone asked for a version to be withdrawn, now or at a time',
  'withdrawal.lifted': 'a withdrawal was taken back',
  'support.ending': 'the support of a version that is used ends in 90, 30 or 7 days',
  'support.ended': 'the support of a version that is used has ended',
  'limit.near': 'a gallery is nearly full',
  'problem.opened': 'there is something that Imago cannot repair',
  'problem.resolved': 'a problem was repaired or resolved',
  'policy.set': 'another policy is in force',
  'approval.needed': 'a release waits for someone to approve a version for a channel',
  'operation.failed': 'an operation failed, with who started it and why it failed',
} as const;
export type WebhookEvent = keyof typeof webhookEvents;

/** Unless others are asked for: each move, withdrawal and deadline. */
const usualWebhookEvents: readonly WebhookEvent[] = [
  'channel.moved',
  'version.state',
  'withdrawal.asked',
  'withdrawal.lifted',
  'support.ending',
  'support.ended',
  'limit.near',
  'approval.needed',
];

/** Sent on request, whatever a webhook asks for. */
export const testEvent = 'webhook.test';

const second = 1000;
const minute = 60 * second;
const hour = 60 * minute;

/** Pauses after the first, second, … failure: about three days in all. */
export const retryPausesMs: readonly number[] = [
  5 * second,
  30 * second,
  2 * minute,
  10 * minute,
  30 * minute,
  2 * hour,
  5 * hour,
  10 * hour,
  20 * hour,
  34 * hour,
];

/** The pause before the next try, up to a tenth longer by `random`; `undefined` when it is given up. */
export function pauseAfter(attempts: number, random: number): number | undefined {
  const pause = retryPausesMs[attempts - 1];
  return pause === undefined ? undefined : Math.round(pause * (1 + random / 10));
}

export interface ToldEvent {
  readonly id: number;
  readonly at: string;
  readonly type: string;
  readonly subject: string;
  readonly data: Json;
}

/** The whole body. `source` names this installation, so that `source` and `id` together are unique. */
export function cloudEvent(event: ToldEvent, source: string): string {
  return JSON.stringify({
    specversion: '1.0',
    id: String(event.id),
    source,
    type: `imago.${event.type}`,
    subject: event.subject,
    time: event.at,
    datacontenttype: 'application/json',
    data: event.data,
  });
}

/** Throws `input-invalid` for kinds of events that there are not, with the nearest that there is. */
export function readWebhookEvents(words: readonly string[]): readonly WebhookEvent[] {
  if (words.length === 0) return usualWebhookEvents;
  const known = Object.keys(webhookEvents) as WebhookEvent[];
  return [...new Set(words)].map((word) => {
    const found = known.find((event) => event === word);
    if (found !== undefined) return found;
    const [close] = nearest(word, known);
    throw new ImagoError('input-invalid', `There is no event ${quote(word)} to be told of.`, {
      hint: close === undefined ? `There are: ${known.join(', ')}.` : `Did you mean ${close}?`,
    });
  });
}

/** The address, written in one way. Throws `webhook-address` for what can never be sent to. */
export function readWebhookUrl(text: string, allowPrivate: boolean): URL {
  const url = URL.parse(text);
  if (url === null) throw refused(`${quote(text)} is not an address.`);
  if (url.protocol !== 'https:' && url.protocol !== 'http:') {
    throw refused(`A webhook goes over HTTPS, not ${url.protocol.replace(':', '')}.`);
  }
  if (url.protocol === 'http:' && !allowPrivate) {
    throw refused('A webhook goes over HTTPS: plain HTTP can be read on the way.');
  }
  if (url.username !== '' || url.password !== '') {
    throw refused('The address of a webhook has no user and no password in it.');
  }
  url.hash = '';
  return url;
}

function refused(message: string): ImagoError {
  return new ImagoError('webhook-address', message);
}
