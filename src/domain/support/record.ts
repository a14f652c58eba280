// End-of-support dates that people set, as they are recorded, and their effect on a version.
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

/** When the support of a version ends, and which date decides it. */
export const sourcedSupport = z.object({
  phase: z.enum(['supported', 'ending', 'ended']),
  endsOn: z.string().describe('Last day.'),
  daysLeft: z.int().describe('Full days until then; negative afterwards.'),
  by: z.string().describe('Subject of the date: `kubernetes 1.34`, `image node`.'),
  source: z.enum(['calendar', 'set']),
  note: z.string().optional(),
  setBy: z.string().optional(),
});
export type SourcedSupport = z.output<typeof sourcedSupport>;
export type Support = Pick<SourcedSupport, 'phase' | 'endsOn' | 'daysLeft' | 'by'>;
