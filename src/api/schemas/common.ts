// Schemas that all parts of the API share: pages, plans, and errors.
import * as z from 'zod';
import { errorDetails, errorKind } from '../../domain/operation/error-record.ts';
import { listOf, record } from '../../domain/value/fields.ts';

export const pageQuery = z.strictObject({
  limit: z.coerce.number<number>().int().min(1).max(1000).default(100).describe('Maximum number of items.'),
  cursor: z.string().min(1).max(2000).optional().describe('`next` of the previous page.'),
});

/** A page of a list. */
export function pageOf<T extends z.ZodType>(item: T) {
  return z.object({
    items: listOf(item),
    next: z.string().optional().describe('Pass it as `cursor` for the next page. Absent on the last page.'),
  });
}

export const problem = record('Problem', 'A problem document (RFC 9457).', {
  type: z.string().describe('`urn:imago:error:CODE`'),
  title: z.string().describe('Meaning of the code.'),
  status: z.int(),
  detail: z.string().describe('Description of this occurrence.'),
  code: z.string(),
  kind: errorKind,
  hint: z.string().optional(),
  retryable: z.boolean(),
  requestId: z.string(),
  details: errorDetails.optional(),
});
export type Problem = z.infer<typeof problem>;

export const plan = record('Plan', 'The preview of a write. Nothing was written.', {
  dryRun: z.literal(true),
  endpoint: z.string(),
  subject: z.string(),
  plan: listOf(z.string()).describe('One sentence per change.'),
});
export type Plan = z.infer<typeof plan>;
