// Sends events to webhooks: records deliveries, sends those that are due, and retries failed ones. Webhooks are
// independent; the deliveries of one are sent sequentially.
import { setTimeout as sleep } from 'node:timers/promises';
import { ensureImagoError } from '../../domain/error/imago-error.ts';
import type { FoundProblem } from '../../domain/problem/problem.ts';
import { cloudEvent, pauseAfter } from '../../domain/webhook/webhook.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Events } from '../../ports/database/events.ts';
import type { DeliveryOutcome, DueDelivery, WebhookOutbox } from '../../ports/database/webhooks.ts';
import type { WebhookKey } from './key.ts';
import { postWebhook } from './post.ts';

export interface WebhookSenderOptions {
  readonly outbox: WebhookOutbox;
  readonly events: Pick<Events, 'onAdded'>;
  readonly key: WebhookKey;
  readonly clock: Pick<Clock, 'now'>;
  readonly signal: AbortSignal;
  readonly onError: (error: unknown) => void;
  readonly post?: typeof postWebhook;
  readonly random?: () => number;
}

const batchSize = 100;
const maxPauseMs = 60_000;
const pauseAfterErrorMs = 5_000;
/** Events come in bursts, which are collected. */
const gatherMs = 50;
const maxHoldMs = 60_000;
const goneStatus = 410;

/** Runs until the signal aborts. Resolves when nothing is being sent. */
export async function sendWebhooks(options: WebhookSenderOptions): Promise<void> {
  const { outbox, events, clock, signal } = options;
  let isNew = false;
  let wake: () => void = () => undefined;
  const stopListening = events.onAdded(() => {
    isNew = true;
    wake();
  });
  try {
    while (!signal.aborted) {
      isNew = false;
      const rest = await round(options).catch((error) => {
        if (!signal.aborted) options.onError(error);
        return pauseAfterErrorMs;
      });
      const woken = new Promise<void>((resolve) => {
        wake = resolve;
      });
      if (!isNew) await Promise.race([pause(rest, signal), woken]);
      await pause(gatherMs, signal);
    }
  } finally {
    stopListening();
  }

  /** Returns the time until the next delivery. */
  async function round(parts: WebhookSenderOptions): Promise<number> {
    await outbox.collect((event) => cloudEvent(event, `urn:imago:${parts.key.id}`));
    const due = await outbox.due(batchSize);
    await Promise.all([...Map.groupBy(due, ({ webhook }) => webhook.name).values()].map(sendInTurn));
    const next = await outbox.nextAt();
    if (next === undefined) return maxPauseMs;
    return Math.min(maxPauseMs, Math.max(0, Date.parse(next) - clock.now()));
  }

  /** Stops after a failure, so that the receiver can recover. */
  async function sendInTurn(deliveries: readonly DueDelivery[]): Promise<void> {
    for (const delivery of deliveries) {
      const outcome = await deliver(delivery, options);
      if (signal.aborted) return;
      await outbox.record(delivery.id, outcome);
      if (outcome.kind !== 'delivered') return;
    }
  }
}

/** Returns a problem for each webhook whose receiver did not get its events. */
export async function failingWebhooks(
  outbox: Pick<WebhookOutbox, 'failing'>,
): Promise<readonly FoundProblem[]> {
  return (await outbox.failing()).map(({ webhook, count, error }) => ({
    kind: 'webhook-failing',
    subject: `webhook/${webhook}`,
    message: `${count} deliveries to webhook ${webhook} failed: ${error}`,
    hint: `See \`imago webhook log ${webhook}\`. Run \`imago webhook resend ${webhook}\` when the receiver works again.`,
  }));
}

async function deliver(
  { event, attempts, body, webhook }: DueDelivery,
  { key, clock, signal, post = postWebhook, random = Math.random, onError }: WebhookSenderOptions,
): Promise<DeliveryOutcome> {
  let failure: { readonly status?: number; readonly error: string };
  try {
    const status = await post({
      url: new URL(webhook.url),
      allowPrivate: webhook.allowPrivate,
      id: `${key.id}_${webhook.name}_${event}`,
      body,
      secret: key.secretOf(webhook),
      timestamp: Math.floor(clock.now() / 1000),
      signal,
    });
    if (status >= 200 && status < 300) return { kind: 'delivered', status };
    if (status === goneStatus) return { kind: 'gone', status };
    failure = { status, error: `The receiver responded with ${status}.` };
  } catch (thrown) {
    const { code, message } = ensureImagoError(thrown);
    if (code === 'webhook-key-missing') onError(thrown);
    failure = { error: thrown instanceof Error ? thrown.message : message };
  }
  const wait = pauseAfter(attempts + 1, random());
  if (wait === undefined) return { kind: 'failed', ...failure };
  const now = clock.now();
  return {
    kind: 'again',
    at: new Date(now + wait).toISOString(),
    othersAt: new Date(now + Math.min(wait, maxHoldMs)).toISOString(),
    ...failure,
  };
}

async function pause(ms: number, signal: AbortSignal): Promise<void> {
  await sleep(ms, undefined, { signal, ref: false }).catch(() => undefined);
}
