// What reaches beyond this place: galleries, webhooks, the catalogue for people.
import * as z from 'zod';
import { name, pageOf, pageQuery } from '../schemas/common.ts';
import {
  addGalleryRequest,
  catalogImage,
  createWebhookRequest,
  delivery,
  gallery,
  newWebhook,
  webhook,
} from '../schemas/reach.ts';
import { endpoint } from './endpoint.ts';

const webhookPath = z.strictObject({ webhook: name });

export const reachContract = {
  showCatalogImage: endpoint({
    tag: 'Images',
    summary: 'What anyone may know of an image: for the exported catalogue',
    description: 'Versions with private inputs and candidates are never in it.',
    role: 'viewer',
    effect: 'read',
    path: z.strictObject({ image: name }),
    status: 200,
    response: catalogImage,
  }),
  listGalleries: endpoint({
    tag: 'Galleries',
    summary: 'The galleries that Imago was told of',
    role: 'viewer',
    effect: 'read',
    status: 200,
    response: pageOf(gallery),
  }),
  addGallery: endpoint({
    tag: 'Galleries',
    summary: 'Tell Imago of a gallery, or change what it was told',
    description: 'A gallery that the provider does not have is made by the first publication.',
    role: 'admin',
    effect: 'write',
    body: addGalleryRequest,
    status: 201,
    response: gallery,
  }),
  removeGallery: endpoint({
    tag: 'Galleries',
    summary: 'Forget a gallery; what it holds stays there',
    role: 'admin',
    effect: 'write',
    path: z.strictObject({ gallery: name }),
    status: 200,
    response: gallery,
  }),
  listWebhooks: endpoint({
    tag: 'Webhooks',
    summary: 'All webhooks, by name',
    role: 'operator',
    effect: 'read',
    query: pageQuery,
    status: 200,
    response: pageOf(webhook),
  }),
  createWebhook: endpoint({
    tag: 'Webhooks',
    summary: 'Tell someone of what happens from now on',
    role: 'admin',
    effect: 'write',
    body: createWebhookRequest,
    status: 201,
    secret: true,
    response: newWebhook,
  }),
  deleteWebhook: endpoint({
    tag: 'Webhooks',
    summary: 'End a webhook, with its log',
    role: 'admin',
    effect: 'write',
    path: webhookPath,
    status: 200,
    response: webhook,
  }),
  listDeliveries: endpoint({
    tag: 'Webhooks',
    summary: 'What became of the deliveries of a webhook, newest first',
    role: 'operator',
    effect: 'read',
    path: webhookPath,
    query: pageQuery,
    status: 200,
    response: pageOf(delivery),
  }),
};
