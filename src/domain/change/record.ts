// What happened, in one list: derived from the permanent records, and recorded nowhere itself.
import * as z from 'zod';
import { record, timestamp } from '../value/fields.ts';

export const change = record('Change', 'Something that happened.', {
  id: z.string(),
  at: timestamp,
  kind: z.enum(['channel', 'withdrawal', 'policy', 'nodes', 'operation', 'setting']),
  subject: z.string().describe('For example `image/node` or `pool/web`.'),
  what: z.string(),
  by: z.string().optional().describe('Absent if no caller is known, as for new nodes of a pool.'),
  why: z.string().optional().describe('Reason, or the error of what failed.'),
  operation: z.string().optional(),
});
export type Change = z.output<typeof change>;
