// The operations on galleries.
import * as z from 'zod';
import { imageOf } from '../image/reference.ts';
import { declareOperation } from '../operation/declaration.ts';
import { name, request } from '../value/fields.ts';

const publishFields = {
  reference: name.describe('Version to publish, not a bare image name.'),
  provider: name.optional().describe("Provider of the gallery. Defaults to the daemon's provider."),
  gallery: name.optional().describe('Registered gallery, instead of a provider.'),
  regions: z
    .array(z.strictObject({ region: name, replicas: z.int().min(1).max(100) }))
    .max(100)
    .default([])
    .describe('Additional regions. No copy is deleted.'),
  deep: z.boolean().default(false).describe('Read the disk back and compare every byte.'),
};

export const imagePublish = declareOperation({
  kind: 'image-publish',
  role: 'publisher',
  subject: ({ reference }) => `image/${imageOf(reference)}`,
  input: z.object(publishFields),
  routes: {
    publishImage: {
      address: 'POST /v1/images/publish',
      tag: 'Images',
      summary: 'Publish a version to a gallery',
      body: request('PublishRequest', publishFields),
    },
  },
});
