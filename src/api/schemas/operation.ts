// Requests for operations.

import * as z from 'zod';
import { operation, operationState } from '../../domain/operation/record.ts';
import { name, record, timestamp } from '../../domain/value/fields.ts';
import { pageQuery } from './common.ts';

export const logLine = record('LogLine', "One line of an operation's log.", {
  at: timestamp,
  line: z.string(),
});

export const shownOperation = record('ShownOperation', 'An operation, and what it waits for.', {
  ...operation.shape,
  waitsFor: z.string().optional().describe('The wait of an operation that is queued or waiting.'),
});

export const operationsQuery = z.strictObject({
  ...pageQuery.shape,
  state: operationState.optional(),
  kind: name.optional(),
  subject: name.optional(),
  parent: name.optional(),
});

export const waitQuery = z.strictObject({
  seconds: z.coerce
    .number<number>()
    .min(0)
    .max(60)
    .default(30)
    .describe('Maximum time to wait until it finishes.'),
});
