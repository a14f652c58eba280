// Steering of the simulated provider.
import * as z from 'zod';
import { faultKinds } from '../../domain/sim/fault-kind.ts';
import { name, timestamp } from './common.ts';

const spec = {
  kind: z.enum(faultKinds).describe('What goes wrong.'),
  call: name.describe('Role and method, e.g. `pools.setModel`; `*` stands for any text.'),
  name: name
    .optional()
    .describe('Only calls about this, e.g. `web` or `web/web-000001`; `*` stands for any text.'),
  gallery: name.optional().describe('Only calls to this gallery.'),
  after: z.int().min(0).optional().describe('So many matching calls pass unharmed first. Default: none.'),
  count: z
    .union([z.int().min(1), z.literal('always')])
    .optional()
    .describe('How many calls it strikes. Default: one.'),
  ms: z.number().nonnegative().optional().describe("How long it takes, in the simulation's time."),
  factor: z.number().positive().optional().describe('For `slow`: so many times as long.'),
  region: name.optional().describe('For `fails-later`: only the copy there.'),
  message: name.optional().describe("The error's text."),
};

export const fault = z
  .object({
    ...spec,
    id: z.int(),
    seen: z.int().describe('Matching calls since it was ordered.'),
    hits: z.int().describe('How many of them it struck.'),
    spent: z.boolean().describe('It strikes no more.'),
  })
  .meta({ id: 'Fault', description: 'A fault that was ordered.' });

export const addFaultRequest = z.strictObject(spec).meta({ id: 'AddFaultRequest' });

export const simTime = z
  .object({ now: timestamp, scale: z.number().describe('How many of its seconds pass in one of ours.') })
  .meta({ id: 'SimTime' });

export const setSimTimeRequest = z
  .strictObject({
    scale: z.number().positive().max(1_000_000).optional(),
    advanceMs: z.number().nonnegative().optional().describe('Moves the time forward.'),
  })
  .meta({ id: 'SetSimTimeRequest' });
