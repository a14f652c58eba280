// Galleries, webhooks, and the public catalog.

import * as z from 'zod';
import { name, record, request, sentence } from '../../domain/value/fields.ts';
import { webhook } from '../../domain/webhook/record.ts';

export const addGalleryRequest = request('AddGalleryRequest', {
  name,
  provider: name,
  place: name
    .optional()
    .describe('Gallery name at the provider. The first publication creates it if it does not exist.'),
  home: name.optional().describe('Home region.'),
  channels: z.array(name).max(20).default([]),
  regions: z
    .array(z.strictObject({ region: name, replicas: z.int().min(1).max(100) }))
    .max(100)
    .default([]),
  public: z.boolean().default(false),
  azure: z
    .strictObject({
      subscription: name,
      resourceGroup: name,
      gallery: name,
      communityName: name.optional(),
    })
    .optional(),
});

export const newWebhook = record('NewWebhook', 'A webhook with its secret.', {
  ...webhook.shape,
  secret: z.string().describe('Key that signs deliveries. Shown once.'),
});

export const createWebhookRequest = request('CreateWebhookRequest', {
  name,
  url: sentence,
  events: z.array(name).max(50).default([]).describe('Defaults to every move, withdrawal, and deadline.'),
  image: name.optional().describe('Send only events of this image.'),
  allowPrivate: z.boolean().default(false).describe('Allow private addresses and plain HTTP.'),
});

export const resendRequest = request('ResendRequest', {
  event: z.int().min(1).optional().describe('Event to resend. Defaults to all failed deliveries.'),
});

export const resent = record('Resent', 'The number of deliveries that are sent again.', {
  webhook: z.string(),
  deliveries: z.int().describe('Number of deliveries that are resent.'),
});

export const copiesQuery = z.strictObject({ image: name.optional().describe('Only of this image.') });
