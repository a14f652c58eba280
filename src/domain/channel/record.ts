// Channels and their moves as they are recorded.
import * as z from 'zod';
import { digest, record, simulated, timestamp } from '../value/fields.ts';
import { policyResult } from './decision.ts';

export const channel = record('Channel', 'A name that points to a version.', {
  image: z.string(),
  name: z.string(),
  forTesting: z.boolean().describe('Accepts candidates; other channels accept only available versions.'),
  managed: z.boolean().describe('Moved only by Imago.'),
  position: z.int().describe('Position in the promotion order.'),
  public: z.boolean().describe('Restricted versions never reach it.'),
  simulated,
  version: z.string().optional(),
  digest: digest.optional(),
  move: z.int().optional().describe('Move that set it.'),
  movedAt: timestamp.optional(),
});
export type ChannelRecord = z.output<typeof channel>;

/** The id grows with every move: it is the order of the log, regardless of the clock. */
export const move = record('Move', 'One channel move, retained permanently.', {
  id: z.int(),
  image: z.string(),
  channel: z.string(),
  from: z.string().optional(),
  to: z.string().optional().describe('Absent if a managed channel was cleared.'),
  toDigest: digest.optional(),
  by: z.string(),
  why: z.string(),
  operation: z.string().optional(),
  policy: policyResult.optional().describe('The results of all gates.'),
  at: timestamp,
});
export type ChannelMove = z.output<typeof move>;
