// Holds as they are recorded.
import * as z from 'zod';
import { record, timestamp } from '../value/fields.ts';

export const hold = record('Hold', 'Protects a version from deletion.', {
  image: z.string(),
  version: z.string(),
  reason: z.string(),
  by: z.string(),
  at: timestamp,
});
export type Hold = z.output<typeof hold>;
