// Galleries and webhooks.
import { galleryCopy } from '../../domain/cost/cost.ts';
import { gallery } from '../../domain/gallery/record.ts';
import { delivery, webhook } from '../../domain/webhook/record.ts';
import { pageOf, pageQuery } from '../schemas/common.ts';
import {
  addGalleryRequest,
  copiesQuery,
  createWebhookRequest,
  newWebhook,
  resendRequest,
  resent,
} from '../schemas/distribution.ts';
import { create, endpoints, read, write } from './endpoint.ts';

export const galleryContract = endpoints('Galleries', {
  listGalleries: read('GET /v1/galleries', 'List registered galleries', { response: pageOf(gallery) }),
  listCopies: read('GET /v1/copies', 'List the copies of versions in galleries, with regions and sizes', {
    query: copiesQuery,
    response: pageOf(galleryCopy),
  }),
  addGallery: create('POST /v1/galleries', 'Register a gallery or update its settings', {
    role: 'admin',
    body: addGalleryRequest,
    response: gallery,
    description: 'The first publication creates a gallery that the provider does not have.',
  }),
  removeGallery: write(
    'DELETE /v1/galleries/{gallery}',
    'Unregister a gallery; its contents are not deleted',
    { role: 'admin', response: gallery },
  ),
});

export const webhookContract = endpoints('Webhooks', {
  listWebhooks: read('GET /v1/webhooks', 'List webhooks by name', {
    role: 'operator',
    query: pageQuery,
    response: pageOf(webhook),
  }),
  createWebhook: create('POST /v1/webhooks', 'Create a webhook', {
    role: 'admin',
    body: createWebhookRequest,
    response: newWebhook,
    secret: true,
  }),
  deleteWebhook: write('DELETE /v1/webhooks/{webhook}', 'Delete a webhook and its delivery log', {
    role: 'admin',
    response: webhook,
  }),
  resendDeliveries: write(
    'POST /v1/webhooks/{webhook}/deliveries',
    'Resend failed deliveries, or one delivery, under the same event id',
    { role: 'admin', body: resendRequest, bodyOptional: true, response: resent },
  ),
  testWebhook: write('POST /v1/webhooks/{webhook}/test', 'Send a test event to a webhook', {
    role: 'admin',
    status: 202,
    response: webhook,
    description: 'Its delivery is listed with the others, and is retried like them.',
  }),
  listDeliveries: read(
    'GET /v1/webhooks/{webhook}/deliveries',
    'List the deliveries of a webhook, newest first',
    { role: 'operator', query: pageQuery, response: pageOf(delivery) },
  ),
});
