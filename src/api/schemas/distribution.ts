// Galleries, webhooks, and the public catalog.

import * as z from 'zod';
import { architectures } from '../../domain/image/platform.ts';
import {
  day,
  digest,
  listOf,
  name,
  record,
  request,
  sentence,
  timestamp,
} from '../../domain/value/fields.ts';
import { webhook } from '../../domain/webhook/record.ts';

const catalogPlace = z.object({
  gallery: z.string(),
  regions: listOf(z.string()).describe('Regions with a ready copy. Empty if the gallery has no regions.'),
  references: listOf(
    z.object({ tool: z.enum(['capz', 'terraform', 'bicep', 'az']), text: z.string() }),
  ).describe('Snippets for tools.'),
});

export const catalogImage = record('CatalogImage', 'The public data of an image.', {
  name: z.string(),
  os: z.enum(['linux', 'windows']),
  architecture: z.enum(architectures),
  simulated: z.literal(true).optional().describe('Simulated: its versions have no disks.'),
  versions: listOf(
    z.object({
      version: z.string(),
      state: z.enum(['available', 'deprecated', 'withdrawn']),
      reason: z.string().optional(),
      digest,
      diskDigest: z.string(),
      sizeBytes: z.number(),
      kubernetes: z.string().optional(),
      createdAt: timestamp,
      support: z
        .object({ phase: z.enum(['supported', 'ending', 'ended']), endsOn: day, by: z.string() })
        .optional(),
      channels: listOf(z.string()),
      places: listOf(catalogPlace),
      described: z.boolean().describe('Whether its release notes and SBOM are available.'),
    }),
  ).describe('Newest first, without candidates and restricted versions.'),
});

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
