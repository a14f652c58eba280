// Rollouts as they are recorded: where a pool came from, so that it can return there, and which versions failed in it.
import * as z from 'zod';
import { digest, record, timestamp } from '../value/fields.ts';

const origin = z.object({
  reference: z.string(),
  follows: z.string().optional(),
  image: z.string(),
  version: z.string(),
  digest,
  move: z.int().optional(),
});

export const rolloutRecord = record('Rollout', 'A rollout of a pool.', {
  operation: z.string(),
  pool: z.string(),
  image: z.string(),
  version: z.string().describe('Version that the nodes move to.'),
  digest,
  from: origin.describe('Last good version, which the pool returns to.'),
  state: z.enum(['running', 'succeeded', 'rolled-back', 'cancelled']),
  reason: z.string().optional().describe('What was observed before it was rolled back.'),
  paused: z.literal(true).optional(),
  at: timestamp,
});
export type RolloutRecord = z.output<typeof rolloutRecord>;

export const rolloutStatus = record('RolloutStatus', 'A rollout, and what it does now.', {
  ...rolloutRecord.shape,
  operationState: z.string().optional(),
  step: z.string().optional().describe('Current step, such as a wave.'),
  sentence: z.string().optional().describe('What it waits for.'),
});
