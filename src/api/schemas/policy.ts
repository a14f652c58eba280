// Requests for policies, and for the results of gates.
import * as z from 'zod';
import { name, request, sentence } from '../../domain/value/fields.ts';

const policyText = request('PolicyText', {
  text: z
    .string()
    .max(256 * 1024)
    .describe('YAML text.'),
  fileName: z.string().max(300).optional().describe('File name in messages.'),
});

export const policyRequest = request('PolicyRequest', {
  ...policyText.shape,
  why: sentence,
  accept: z
    .boolean()
    .optional()
    .describe('Activate it even if a channel that is not for testing loses gates.'),
});

export const gatesQuery = z.strictObject({ reference: name.describe('Version.'), channel: name });
