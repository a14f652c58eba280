// Steering of the simulated provider.
import * as z from 'zod';
import { name, timestamp } from './common.ts';

const mode = z.enum([
  'fail',
  'fail-but-done',
  'succeed-but-not-done',
  'reply-lost',
  'hang',
  'throttle',
  'slow',
  'die-before',
  'die-after',
]);
const call = name.describe('`ROLE.METHOD`, e.g. `pools.createPool`; `*` stands for any role or method.');
const onlyName = name.optional().describe('Only calls about the thing of this name.');
const durationMs = z
  .number()
  .nonnegative()
  .optional()
  .describe("How long `hang`, `slow` and `throttle` last, in the simulation's time.");

export const fault = z
  .object({
    id: z.string(),
    call,
    mode,
    name: onlyName,
    skip: z.int().describe('How many fitting calls go well first.'),
    times: z.int().describe('How many fitting calls it strikes.'),
    durationMs,
    struck: z.int().describe('How many it has struck.'),
  })
  .meta({ id: 'Fault', description: 'A fault that was ordered.' });

export const addFaultRequest = z
  .strictObject({
    call,
    mode,
    name: onlyName,
    skip: z.int().min(0).optional().describe('How many fitting calls go well first. Default: 0.'),
    times: z.int().min(1).optional().describe('How many fitting calls it strikes. Default: 1.'),
    durationMs,
  })
  .meta({ id: 'AddFaultRequest' });

export const simTime = z
  .object({ now: timestamp, scale: z.number().describe('How many of its seconds pass in one of ours.') })
  .meta({ id: 'SimTime' });

export const setSimTimeRequest = z
  .strictObject({
    scale: z.number().positive().max(1_000_000).optional(),
    advanceMs: z.number().nonnegative().optional().describe('Moves the time forward.'),
  })
  .meta({ id: 'SetSimTimeRequest' });
