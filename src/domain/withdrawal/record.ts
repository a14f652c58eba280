// Withdrawals as they are recorded. They are lifted, never deleted.
import * as z from 'zod';
import { timestamp } from '../value/fields.ts';

export const withdrawalRecord = z.object({
  id: z.int(),
  image: z.string(),
  version: z.string(),
  cause: z
    .int()
    .optional()
    .describe("The ancestor's withdrawal that it follows from. Absent if it was requested for this version."),
  reason: z.string(),
  withDescendants: z.boolean(),
  effectiveAt: timestamp,
  by: z.string(),
  operation: z.string(),
  at: timestamp,
  appliedAt: timestamp.optional().describe('Absent while it is scheduled.'),
  liftedAt: timestamp.optional(),
  liftedBy: z.string().optional(),
  liftedWhy: z.string().optional(),
  liftedOperation: z.string().optional(),
});
export type Withdrawal = z.output<typeof withdrawalRecord>;
