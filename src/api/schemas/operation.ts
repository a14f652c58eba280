// Operations: their records and requests.
import * as z from 'zod';
import { json, listOf, name, record, timestamp } from '../../domain/value/fields.ts';
import { errorRecord, pageQuery } from './common.ts';

export const operationState = z.enum([
  'queued',
  'running',
  'waiting',
  'undoing',
  'succeeded',
  'failed',
  'cancelled',
]);

const progress = z.object({ done: z.number(), total: z.number(), sentence: z.string() });

const step = record('Step', 'One named step of an operation.', {
  name: z.string(),
  state: z.enum(['pending', 'running', 'done', 'skipped', 'failed', 'undone', 'undo-failed']),
  attempts: z.int().describe('Number of attempts: more than one after a crash.'),
  startedAt: timestamp.optional(),
  endedAt: timestamp.optional(),
  result: json.optional(),
  error: errorRecord.optional(),
});

export const operation = record('Operation', 'A durable run of named steps.', {
  id: z.string(),
  kind: z.string(),
  subject: z.string().describe('Subject, for example `pool/web`.'),
  by: z.string(),
  osUser: z.string().optional().describe('OS user, if known.'),
  key: z.string().describe('Operations with the same key run sequentially.'),
  input: json,
  state: operationState,
  steps: listOf(step),
  currentStep: z.string().optional(),
  progress: progress.optional(),
  result: json.optional(),
  error: errorRecord.optional(),
  exceptions: listOf(z.string()).describe('What could not be undone and needs attention.'),
  cancelRequestedBy: z.string().optional(),
  parent: z.string().optional(),
  retryOf: z.string().optional(),
  createdAt: timestamp,
  startedAt: timestamp.optional(),
  endedAt: timestamp.optional(),
});

export const logLine = record('LogLine', "One line of an operation's log.", {
  at: timestamp,
  line: z.string(),
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
