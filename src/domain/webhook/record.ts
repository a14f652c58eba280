// Webhooks and their deliveries as they are recorded.
import * as z from 'zod';
import { listOf, record, timestamp } from '../value/fields.ts';
import { type WebhookEvent, webhookEvents } from './webhook.ts';

export const webhook = record('Webhook', 'A receiver of events.', {
  name: z.string(),
  url: z.string(),
  events: listOf(z.enum(Object.keys(webhookEvents) as WebhookEvent[])),
  image: z.string().optional().describe('Only events of this image are sent.'),
  allowPrivate: z.boolean().describe('Allows private addresses and plain HTTP.'),
  state: z.enum(['active', 'gone']).describe('`gone`: the receiver responded with 410.'),
  by: z.string(),
  at: timestamp,
});
export type Webhook = z.output<typeof webhook>;

export const delivery = record('Delivery', 'The delivery of one event to a webhook.', {
  id: z.int(),
  webhook: z.string(),
  event: z.int(),
  type: z.string(),
  state: z.enum(['waiting', 'delivered', 'failed']),
  attempts: z.int(),
  nextAt: timestamp.optional().describe('Next attempt, while it is waiting.'),
  status: z.int().optional().describe('Last HTTP status of the receiver.'),
  error: z.string().optional(),
  at: timestamp,
  endedAt: timestamp.optional(),
});
export type Delivery = z.output<typeof delivery>;
