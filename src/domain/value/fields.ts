// Parts that the schemas of requests, responses, and inputs share.
import * as z from 'zod';
import { ensureImagoError } from '../error/imago-error.ts';
import type { Json } from './json.ts';

/** Any JSON value. A JSON parser has read it, so there is nothing to validate. */
export const json = z.unknown() as z.ZodType<Json, Json>;

/** An object with a name in OpenAPI. Responses can gain fields later. */
export function record<S extends z.ZodRawShape>(id: string, description: string, shape: S) {
  return z.object(shape).meta({ id, description });
}

/** The body of a request, with a name in OpenAPI. Unknown fields are refused. */
export function request<S extends z.ZodRawShape>(id: string, shape: S) {
  return z.strictObject(shape).meta({ id });
}

/** A read-only list, like those of the records that responses are made from. */
export function listOf<T extends z.ZodType>(item: T) {
  return z.array(item).readonly();
}

export const timestamp = z.iso.datetime({ offset: true });
export const digest = z.string().regex(/^sha256:[0-9a-f]{64}$/);

export const name = z.string().min(1).max(200);
export const sentence = z.string().min(1).max(2000);
/** A text that must not be blank. */
export const reason = z
  .string()
  .min(1, 'must not be empty')
  .refine((text) => text.trim() !== '', 'must not be empty');

/** A day, such as 2027-02-28. */
export const day = z.string().regex(/^\d{4}-\d{2}-\d{2}$/);
export const simulated = z.literal(true).optional().describe('Simulated: there is no disk.');

/** Turns a text into what `parse` returns; what it throws is the problem of the field, with its hint. */
export function parsed<T>(parse: (text: string) => T) {
  return (text: string, context: z.RefinementCtx<string>): T => {
    try {
      return parse(text);
    } catch (error) {
      const { message, hint } = ensureImagoError(error);
      context.addIssue({ code: 'custom', message, params: { hint } });
      return z.NEVER;
    }
  };
}

/** Checks the text, and leaves it as it is: inputs are recorded as they were written. */
export function checkedText(parse: (text: string) => unknown, maxLength = 100) {
  return z
    .string()
    .min(1)
    .max(maxLength)
    .transform(
      parsed((text) => {
        parse(text);
        return text;
      }),
    );
}

/** A switch in a query: `true` or `false`. */
export const querySwitch = z.stringbool().default(false).meta({ type: 'boolean' });
