// End-of-support dates that people set, as they are recorded.
import * as z from 'zod';
import { timestamp } from '../value/fields.ts';

export const setDate = z.object({
  product: z.string(),
  line: z.string(),
  endsOn: z.string().describe('Last day.'),
  note: z.string(),
  by: z.string(),
  at: timestamp,
});
export type SetSupportDate = z.output<typeof setDate>;
