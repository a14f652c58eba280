// Rollouts as they are recorded: where a pool came from, so that it can return there, and which versions failed in it.
import * as z from 'zod';
import { poolRecord } from '../pool/record.ts';
import { digest, listOf, record, timestamp } from '../value/fields.ts';

const origin = z.object({
  reference: z.string(),
  follows: z.string().optional(),
  image: z.string(),
  version: z.string(),
  digest,
  move: z.int().optional(),
  base: poolRecord.shape.base,
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

export const nodeTurn = record('NodeTurn', 'A node of a rollout.', {
  name: z.string(),
  wave: z.string(),
  state: z.enum(['waiting', 'moving', 'moved', 'failed']),
  sentence: z.string().optional().describe('What it does or waits for, or why it failed.'),
  expectedAt: timestamp.optional().describe('When it is expected to be moved.'),
});

export const rolloutStatus = record('RolloutStatus', 'A rollout, and what it does now.', {
  ...rolloutRecord.shape,
  operationState: z.string().optional(),
  step: z.string().optional().describe('Current step, such as a wave.'),
  sentence: z.string().optional().describe('What it waits for.'),
  nodes: listOf(nodeTurn).describe('The nodes in their order.'),
});

export const plannedRollout = record('PlannedRollout', 'What a rollout would do.', {
  pool: z.string(),
  to: origin.describe('What nodes would move to.'),
  from: origin.describe('What the pool would return to.'),
  through: listOf(z.string()).describe('Floors that the nodes would move to first, as NAME:VERSION.'),
  maxUnavailable: z.int().describe('Nodes that move at a time.'),
  extraNodes: z.int().describe('Nodes that exist in addition while others are replaced.'),
  bytes: z.int().describe('Upper bound for the size of the disks to write.'),
  current: listOf(z.string()).describe('Nodes that have the target already.'),
  nodes: listOf(nodeTurn).describe('The nodes in their order.'),
  endsAt: timestamp.describe('When the last wave is expected to be complete.'),
  differences: listOf(z.string()).describe('Differences between the two versions.'),
});
