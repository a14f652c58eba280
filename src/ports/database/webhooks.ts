// Webhooks as they are stored: who receives what, and the outcome of every delivery. A delivery is recorded before
// it is sent, so that a crash loses none; one may be sent twice, with the same id.
import type { Delivery, Webhook } from '../../domain/webhook/record.ts';
import type { ToldEvent } from '../../domain/webhook/webhook.ts';
import type { Page, PageQuery } from '../page.ts';

export type { Delivery, Webhook } from '../../domain/webhook/record.ts';

export interface KeptWebhook extends Webhook {
  /** What the secret is derived from, together with the key that `keyId` names. */
  readonly salt: string;
  readonly keyId: string;
}

export type NewWebhook = Omit<KeptWebhook, 'state' | 'at'>;

/** One that is to be sent now. */
export interface DueDelivery {
  readonly id: number;
  readonly event: number;
  readonly attempts: number;
  readonly body: string;
  readonly webhook: KeptWebhook;
}

export type DeliveryOutcome =
  | { readonly kind: 'delivered'; readonly status: number }
  /** It is sent again at `at`; others that wait for the same webhook not before `othersAt`. */
  | {
      readonly kind: 'again';
      readonly at: string;
      readonly othersAt: string;
      readonly status?: number;
      readonly error: string;
    }
  | { readonly kind: 'failed'; readonly status?: number; readonly error: string }
  /** The other side wants no more: the webhook is `gone`, and all that waits for it failed. */
  | { readonly kind: 'gone'; readonly status: number };

export interface Webhooks {
  /** Emits an event that only this webhook receives. */
  test(name: string, by: string): Promise<void>;
  /** By name. */
  list(query: PageQuery): Promise<Page<Webhook>>;
  get(name: string): Promise<Webhook | undefined>;
  /**
   * It receives what happens from now on. `webhook-exists` if the name is taken, even by the same content: the
   * secret is shown only once.
   */
  create(webhook: NewWebhook): Promise<Webhook>;
  /** With its log. `false` when there is none of that name. */
  delete(name: string): Promise<boolean>;
  /**
   * Sends again what failed, or one delivery that ended, with the id that it had before; answers how many. What waits is
   * left as it is. `webhook-gone` when the other side wants no more.
   */
  resend(name: string, event: number | undefined, by: string): Promise<number>;
  /** Whether the event was or is to be delivered to it. */
  hasEvent(name: string, event: number): Promise<boolean>;
  /** Newest first. */
  log(name: string, query: PageQuery): Promise<Page<Delivery>>;
}

/** What the sender works with. */
export interface WebhookOutbox {
  /**
   * Writes down a delivery for each event since the last call that a webhook asked for, and answers how many. A
   * second call finds nothing new. `body` makes what is sent.
   */
  collect(body: (event: ToldEvent) => string): Promise<number>;
  /** Those whose time has come, the longest waiting first. */
  due(limit: number): Promise<readonly DueDelivery[]>;
  /** Unknown ids are ignored: the webhook was deleted in the meantime. */
  record(delivery: number, outcome: DeliveryOutcome): Promise<void>;
  /** When the next one is due; `undefined` when none waits. */
  nextAt(): Promise<string | undefined>;
  /** Forgets deliveries that ended before then. */
  trim(before: string): Promise<number>;
  /** Webhooks with deliveries that were abandoned or failed repeatedly, with the last error. */
  failing(): Promise<readonly { readonly webhook: string; readonly count: number; readonly error: string }[]>;
}
