// Operations: the record of a durable run, what starts one, and what can be said to one.
import * as z from 'zod';
import { errorRecord, json, listOf, name, pageQuery, timestamp } from './common.ts';

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

const step = z
  .object({
    name: z.string(),
    state: z.enum(['pending', 'running', 'done', 'skipped', 'failed', 'undone', 'undo-failed']),
    attempts: z.int().describe('How often its body was begun: more than once after a crash.'),
    startedAt: timestamp.optional(),
    endedAt: timestamp.optional(),
    result: json.optional(),
    error: errorRecord.optional(),
  })
  .meta({ id: 'Step', description: 'One named step of an operation.' });

export const operation = z
  .object({
    id: z.string(),
    kind: z.string(),
    subject: z.string().describe('What it is about, e.g. `pool/web`.'),
    by: z.string(),
    osUser: z.string().optional().describe('The OS user behind it, if it is known.'),
    key: z.string().describe('Operations with one key run one at a time.'),
    input: json,
    state: operationState,
    steps: listOf(step),
    currentStep: z.string().optional(),
    progress: progress.optional(),
    result: json.optional(),
    error: errorRecord.optional(),
    exceptions: listOf(z.string()).describe('What undo could not put back: a person must look.'),
    cancelRequestedBy: z.string().optional(),
    parent: z.string().optional(),
    retryOf: z.string().optional(),
    createdAt: timestamp,
    startedAt: timestamp.optional(),
    endedAt: timestamp.optional(),
  })
  .meta({ id: 'Operation', description: 'A durable run of named steps.' });

export const logLine = z
  .object({ at: timestamp, line: z.string() })
  .meta({ id: 'LogLine', description: "One line of an operation's log." });

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
    .describe('How long to wait for the end before answering with the operation as it is.'),
});

export const testRequest = z
  .strictObject({
    reference: name.describe('The version to test; not a bare image name.'),
    nodeConfig: z
      .string()
      .max(49_152)
      .optional()
      .describe('What the machines are told to be; nothing beyond the image when absent.'),
    firmware: z
      .array(z.enum(['uefi', 'bios', 'direct']))
      .min(1)
      .max(6)
      .optional()
      .describe('How the machines start; every way when absent.'),
    keepOnFailure: z.boolean().optional().describe('Leaves the machines of a failed test for a look.'),
  })
  .meta({ id: 'TestRequest' });
