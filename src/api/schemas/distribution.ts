// Galleries, webhooks, and the catalogue for people.
import * as z from 'zod';
import { architectures } from '../../domain/image/version.ts';
import { digest, listOf, name, sentence, timestamp } from './common.ts';

const day = z.string().regex(/^\d{4}-\d{2}-\d{2}$/);

const catalogPlace = z.object({
  gallery: z.string(),
  regions: listOf(z.string()).describe('Where a copy is ready; empty where the gallery has only one place.'),
  references: listOf(
    z.object({ tool: z.enum(['capz', 'terraform', 'bicep', 'az']), text: z.string() }),
  ).describe('To be pasted as they are.'),
});

export const catalogImage = z
  .object({
    name: z.string(),
    os: z.enum(['linux', 'windows']),
    architecture: z.enum(architectures),
    simulated: z.literal(true).optional().describe('Its versions are made up: there are no disks.'),
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
        described: z.boolean().describe('Whether its notes and bills of materials can be read here.'),
      }),
    ).describe('Newest first; never candidates or restricted ones.'),
  })
  .meta({ id: 'CatalogImage', description: 'What anyone may know of an image.' });

const azure = z.object({
  subscription: z.string(),
  resourceGroup: z.string(),
  gallery: z.string(),
  communityName: z.string().optional().describe('The public name of a community gallery.'),
});

const region = z.object({ region: z.string(), replicas: z.int() });

export const gallery = z
  .object({
    name: z.string(),
    provider: z.string(),
    place: z.string().optional().describe('What the provider calls it.'),
    home: z.string().optional().describe('The region that it stands in.'),
    channels: listOf(z.string()).describe('Versions are copied here before one of these moves to them.'),
    regions: listOf(region),
    public: z.boolean().describe('Restricted versions never go there; the exported catalogue shows it.'),
    azure: azure.optional(),
    by: z.string(),
    at: timestamp,
  })
  .meta({ id: 'Gallery', description: 'Where versions are copied to.' });

export const addGalleryRequest = z
  .strictObject({
    name,
    provider: name,
    place: name
      .optional()
      .describe('What the provider calls it; made by the first publication when it does not exist.'),
    home: name.optional().describe('The region that it stands in.'),
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
  })
  .meta({ id: 'AddGalleryRequest' });

const webhookFields = {
  name: z.string(),
  url: z.string(),
  events: listOf(z.string()),
  image: z.string().optional(),
  allowPrivate: z.boolean(),
  state: z.enum(['active', 'gone']).describe('`gone` when the other side answered 410.'),
  by: z.string(),
  at: timestamp,
};

export const webhook = z
  .object(webhookFields)
  .meta({ id: 'Webhook', description: 'Whom to tell of what happens.' });

export const newWebhook = z
  .object({
    ...webhookFields,
    secret: z.string().describe('Shown this once: deliveries are signed with it.'),
  })
  .meta({ id: 'NewWebhook' });

export const createWebhookRequest = z
  .strictObject({
    name,
    url: sentence,
    events: z.array(name).max(50).default([]).describe('Each move, withdrawal and deadline unless given.'),
    image: name.optional().describe('Only what concerns this image.'),
    allowPrivate: z.boolean().default(false).describe('Allow private addresses, and plain HTTP.'),
  })
  .meta({ id: 'CreateWebhookRequest' });

export const delivery = z
  .object({
    id: z.int(),
    webhook: z.string(),
    event: z.int(),
    type: z.string(),
    state: z.enum(['waiting', 'delivered', 'failed']),
    attempts: z.int(),
    nextAt: timestamp.optional(),
    status: z.int().optional().describe('What the other side answered last.'),
    error: z.string().optional(),
    at: timestamp,
    endedAt: timestamp.optional(),
  })
  .meta({ id: 'Delivery', description: 'One event on its way to a webhook.' });

export const resendRequest = z
  .strictObject({
    event: z.int().min(1).optional().describe('Of one delivery; all that failed when left out.'),
  })
  .meta({ id: 'ResendRequest' });

export const resent = z
  .object({ webhook: z.string(), deliveries: z.int().describe('How many are on their way again.') })
  .meta({ id: 'Resent' });
