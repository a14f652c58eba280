// What every part of the API is made of: pages, plans, errors, and the forms of single values.
import * as z from 'zod';
import { errorKinds } from '../../domain/error/imago-error.ts';
import type { Json } from '../../domain/value/json.ts';

/** Any JSON value. The document itself was read by a JSON parser, so nothing is left to check. */
export const json = z.unknown() as z.ZodType<Json, Json>;

export const timestamp = z.iso.datetime({ offset: true });
export const digest = z.string().regex(/^sha256:[0-9a-f]{64}$/);
export const name = z.string().min(1).max(200);
export const sentence = z.string().min(1).max(2000);

export const pageQuery = z.strictObject({
  limit: z.coerce.number<number>().int().min(1).max(1000).default(100).describe('How many items at most.'),
  cursor: z.string().min(1).max(2000).optional().describe('The `next` of the page before.'),
});

/** A list that nobody changes, like those of the records that answers are made from. */
export function listOf<T extends z.ZodType>(item: T) {
  return z.array(item).readonly();
}

/** A page of a list. `next` is absent on the last page. */
export function pageOf<T extends z.ZodType>(item: T) {
  return z.object({
    items: listOf(item),
    next: z.string().optional().describe('Give it back as `cursor` for the next page; absent on the last.'),
  });
}

const kinds = Object.keys(errorKinds) as [keyof typeof errorKinds, ...(keyof typeof errorKinds)[]];
const details = z.record(z.string(), z.unknown());

export const errorRecord = z
  .object({
    code: z.string().describe('Stable; explained in docs/errors.md.'),
    kind: z.enum(kinds).describe('Who must act.'),
    message: z.string(),
    hint: z.string().optional().describe('What to do next.'),
    retryable: z.boolean().describe('Whether the same request can succeed later.'),
    details: details.optional(),
  })
  .meta({ id: 'Error', description: 'Why something failed.' });

export const problem = z
  .object({
    type: z.string().describe('`urn:imago:error:CODE`'),
    title: z.string().describe('What the code means in general.'),
    status: z.int(),
    detail: z.string().describe('What happened this time.'),
    code: z.string(),
    kind: z.enum(kinds),
    hint: z.string().optional(),
    retryable: z.boolean(),
    requestId: z.string(),
    details: details.optional(),
  })
  .meta({ id: 'Problem', description: 'A problem document (RFC 9457).' });
export type Problem = z.infer<typeof problem>;

export const plan = z
  .object({
    dryRun: z.literal(true),
    endpoint: z.string(),
    subject: z.string(),
    plan: listOf(z.string()).describe('What would be done, one sentence each.'),
  })
  .meta({ id: 'Plan', description: 'What a write would do. Nothing was written.' });
export type Plan = z.infer<typeof plan>;
