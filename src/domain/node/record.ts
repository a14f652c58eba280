// Nodes as they are recorded: what each was created from, written when it is first seen and again when its disk is
// recreated (rule 6).
import * as z from 'zod';
import { digest, timestamp } from '../value/fields.ts';

export const nodeRecord = z.object({
  name: z.string(),
  pool: z.string(),
  image: z.string(),
  version: z.string(),
  digest,
  reference: z.string(),
  channel: z.string().optional(),
  move: z.int().optional(),
  at: timestamp.describe('Time at which its disk was created from the image.'),
  machineId: z.string(),
  schedulable: z.boolean(),
  goneAt: timestamp.optional(),
});
export type NodeRecord = z.output<typeof nodeRecord>;
