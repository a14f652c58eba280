// Operations and their steps as they are recorded.
import * as z from 'zod';
import { json, listOf, record, timestamp } from '../value/fields.ts';
import { errorRecord } from './error-record.ts';

export const operationState = z.enum([
  'queued',
  'running',
  'waiting',
  'undoing',
  'succeeded',
  'failed',
  'cancelled',
]);
export type OperationState = z.output<typeof operationState>;

const progress = z.object({ done: z.number(), total: z.number(), sentence: z.string() });
export type Progress = z.output<typeof progress>;

export const step = record('Step', 'One named step of an operation.', {
  name: z.string(),
  state: z.enum(['pending', 'running', 'done', 'skipped', 'failed', 'undone', 'undo-failed']),
  attempts: z.int().describe('Number of attempts: more than one after a crash.'),
  startedAt: timestamp.optional(),
  endedAt: timestamp.optional(),
  result: json.optional(),
  error: errorRecord.optional(),
});
export type StepRecord = z.output<typeof step>;
export type StepState = StepRecord['state'];

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
export type OperationRecord = z.output<typeof operation>;
