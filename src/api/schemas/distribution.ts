// Galleries, webhooks, and the public catalog.
import * as z from 'zod';
import { architectures } from '../../domain/image/version.ts';
import { digest, listOf, name, record, request, sentence, timestamp } from '../../domain/value/fields.ts';

const day = z.string().regex(/^\d{4}-\d{2}-\d{2}$/);

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

const azure = z.object({
  subscription: z.string(),
  resourceGroup: z.string(),
  gallery: z.string(),
  communityName: z.string().optional().describe('Public name of a community gallery.'),
});

const region = z.object({ region: z.string(), replicas: z.int() });

export const gallery = record('Gallery', 'A registered gallery.', {
  name: z.string(),
  provider: z.string(),
  place: z.string().optional().describe('Gallery name at the provider.'),
  home: z.string().optional().describe('Home region.'),
  channels: listOf(z.string()).describe(
    'Channels that the gallery serves: versions are copied to it before one of them moves.',
  ),
  regions: listOf(region),
  public: z.boolean().describe('Never receives restricted versions, and is in the public catalog.'),
  azure: azure.optional(),
  by: z.string(),
  at: timestamp,
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

const webhookFields = {
  name: z.string(),
  url: z.string(),
  events: listOf(z.string()),
  image: z.string().optional(),
  allowPrivate: z.boolean(),
  state: z.enum(['active', 'gone']).describe('`gone`: the receiver responded with 410.'),
  by: z.string(),
  at: timestamp,
};

export const webhook = z.object(webhookFields).meta({ id: 'Webhook', description: 'A receiver of events.' });

export const newWebhook = record('NewWebhook', 'A webhook with its secret.', {
  ...webhookFields,
  secret: z.string().describe('Key that signs deliveries. Shown once.'),
});

export const createWebhookRequest = request('CreateWebhookRequest', {
  name,
  url: sentence,
  events: z.array(name).max(50).default([]).describe('Defaults to every move, withdrawal, and deadline.'),
  image: name.optional().describe('Send only events of this image.'),
  allowPrivate: z.boolean().default(false).describe('Allow private addresses and plain HTTP.'),
});

export const delivery = record('Delivery', 'The delivery of one event to a webhook.', {
  id: z.int(),
  webhook: z.string(),
  event: z.int(),
  type: z.string(),
  state: z.enum(['waiting', 'delivered', 'failed']),
  attempts: z.int(),
  nextAt: timestamp.optional(),
  status: z.int().optional().describe('Last HTTP status of the receiver.'),
  error: z.string().optional(),
  at: timestamp,
  endedAt: timestamp.optional(),
});

export const resendRequest = request('ResendRequest', {
  event: z.int().min(1).optional().describe('Event to resend. Defaults to all failed deliveries.'),
});

export const resent = record('Resent', 'The number of deliveries that are sent again.', {
  webhook: z.string(),
  deliveries: z.int().describe('Number of deliveries that are resent.'),
});
