// Errors as records and responses carry them.
import * as z from 'zod';
import { errorKinds } from '../error/imago-error.ts';
import { record } from '../value/fields.ts';

export const errorKind = z.enum(Object.keys(errorKinds) as (keyof typeof errorKinds)[]);
export const errorDetails = z.record(z.string(), z.unknown());

export const errorRecord = record('Error', 'An error.', {
  code: z.string().describe('Stable code, see docs/errors.md.'),
  kind: errorKind.describe('Kind of error, which determines who must act.'),
  message: z.string(),
  hint: z.string().optional().describe('What to do next.'),
  retryable: z.boolean().describe('Whether the same request can succeed later.'),
  details: errorDetails.optional(),
});
