// The operations on galleries.
import * as z from 'zod';
import { imageOf } from '../image/reference.ts';
import { declareOperation } from '../operation/declaration.ts';
import { name } from '../value/fields.ts';

const publishFields = {
  reference: name.describe('The version to publish; not a bare image name.'),
  provider: name.optional().describe("The provider whose gallery it is. Defaults to the daemon's own."),
  gallery: name.optional().describe('A registered gallery, in place of a provider.'),
  regions: z
    .array(z.strictObject({ region: name, replicas: z.int().min(1).max(100) }))
    .max(100)
    .default([])
    .describe('Additional regions to copy it to; none is removed.'),
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
      summary: "Copy a version to a provider's gallery",
      body: z.strictObject(publishFields),
    },
  },
});
