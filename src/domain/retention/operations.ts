// The operation that deletes what nothing needs.
import * as z from 'zod';
import { declareOperation } from '../operation/declaration.ts';
import { name } from '../value/fields.ts';

const pruneFields = {
  image: name.optional().describe('Defaults to all images.'),
  keepCount: z
    .int()
    .min(0)
    .max(100_000)
    .optional()
    .describe('How many of the newest versions of each image stay.'),
  keepDays: z.int().min(0).max(36_500).optional().describe('Versions younger than this stay.'),
  expect: z.int().min(0).optional().describe('Refuse unless exactly this many versions can be deleted.'),
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
      summary: 'Delete versions that nothing needs',
      body: z.strictObject(pruneFields),
      bodyOptional: true,
    },
  },
});

export type PruneInput = z.output<typeof prune.input>;
