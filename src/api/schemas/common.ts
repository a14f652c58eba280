// Schemas that all parts of the API share: pages, plans, and errors.
import * as z from 'zod';
import { errorKinds } from '../../domain/error/imago-error.ts';
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

const kinds = Object.keys(errorKinds) as [keyof typeof errorKinds, ...(keyof typeof errorKinds)[]];
const details = z.record(z.string(), z.unknown());

export const errorRecord = record('Error', 'An error.', {
  code: z.string().describe('Stable code, see docs/errors.md.'),
  kind: z.enum(kinds).describe('Kind of error, which determines who must act.'),
  message: z.string(),
  hint: z.string().optional().describe('What to do next.'),
  retryable: z.boolean().describe('Whether the same request can succeed later.'),
  details: details.optional(),
});

export const problem = record('Problem', 'A problem document (RFC 9457).', {
  type: z.string().describe('`urn:imago:error:CODE`'),
  title: z.string().describe('Meaning of the code.'),
  status: z.int(),
  detail: z.string().describe('Description of this occurrence.'),
  code: z.string(),
  kind: z.enum(kinds),
  hint: z.string().optional(),
  retryable: z.boolean(),
  requestId: z.string(),
  details: details.optional(),
});
export type Problem = z.infer<typeof problem>;

export const plan = record('Plan', 'The preview of a write. Nothing was written.', {
  dryRun: z.literal(true),
  endpoint: z.string(),
  subject: z.string(),
  plan: listOf(z.string()).describe('One sentence per change.'),
});
export type Plan = z.infer<typeof plan>;
