// The operation that deletes what nothing needs.
import * as z from 'zod';
import { declareOperation } from '../operation/declaration.ts';
import { name, request } from '../value/fields.ts';

const pruneFields = {
  image: name.optional().describe('Defaults to all images.'),
  keepCount: z
    .int()
    .min(0)
    .max(100_000)
    .optional()
    .describe('Number of newest versions of each image to keep.'),
  keepDays: z.int().min(0).max(36_500).optional().describe('Days for which versions are kept.'),
  expect: z.int().min(0).optional().describe('Fail unless exactly this many versions can be deleted.'),
};

export const prune = declareOperation({
  kind: 'prune',
  role: 'publisher',
  subject: ({ image }) => (image === undefined ? 'catalogue' : `image/${image}`),
  input: z.object(pruneFields),
  routes: {
    prune: {
      address: 'POST /v1/prune',
      tag: 'Images',
      summary: 'Delete versions that are no longer in use',
      body: request('PruneRequest', pruneFields),
      bodyOptional: true,
    },
  },
});

export type PruneInput = z.output<typeof prune.input>;
