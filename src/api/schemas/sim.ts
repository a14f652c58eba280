// Control of the simulated provider.
import * as z from 'zod';
import { faultKinds } from '../../domain/sim/fault-kind.ts';
import { name, record, request, timestamp } from '../../domain/value/fields.ts';

const spec = {
  kind: z.enum(faultKinds).describe('Kind of fault.'),
  call: name.describe('Role and method, for example `pools.setModel`; `*` matches any text.'),
  name: name
    .optional()
    .describe('Apply only to calls for this resource, for example `web`; `*` matches any text.'),
  gallery: name.optional().describe('Apply only to calls to this gallery.'),
  after: z.int().min(0).optional().describe('Matching calls to let succeed first. Defaults to 0.'),
  count: z
    .union([z.int().min(1), z.literal('always')])
    .optional()
    .describe('Matching calls to fail. Defaults to 1.'),
  ms: z.number().nonnegative().optional().describe('Duration in simulated milliseconds.'),
  factor: z.number().positive().optional().describe('Slowdown factor of `slow`.'),
  region: name.optional().describe('Region in which `fails-later` applies.'),
  message: name.optional().describe('Error message.'),
};

export const fault = record('Fault', 'An injected fault.', {
  ...spec,
  id: z.int(),
  seen: z.int().describe('Matching calls since it was injected.'),
  hits: z.int().describe('Matching calls that failed.'),
  spent: z.boolean().describe('Whether it no longer applies.'),
});

export const addFaultRequest = z.strictObject(spec).meta({ id: 'AddFaultRequest' });

export const simTime = record('SimTime', 'The simulated time.', {
  now: timestamp,
  scale: z.number().describe('Simulated seconds per second.'),
});

export const setSimTimeRequest = request('SetSimTimeRequest', {
  scale: z.number().positive().max(1_000_000).optional(),
  advanceMs: z.number().nonnegative().optional().describe('Milliseconds to move the time forward.'),
});
