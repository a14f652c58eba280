// The results of the gates as a channel's log stores them.
import * as z from 'zod';
import { listOf, record, timestamp } from '../value/fields.ts';

/** The gate is a plain name, since records outlive gates. */
const gateResult = record('Gate', 'The result of one gate.', {
  gate: z.string(),
  passed: z.boolean(),
  needs: z.string().describe('What the gate requires.'),
  value: z.string().describe('What the gate found.'),
  evidence: listOf(z.int()).optional().describe('Evidence that the decision is based on.'),
  opensAt: timestamp.optional().describe('Time at which the gate passes on its own.'),
  waitsForPeople: z.literal(true).optional(),
  overridden: z.literal(true).optional(),
});
export type GateResult = z.output<typeof gateResult>;

/** The decision of an admin to move a channel although gates block it. Stays visible permanently. */
const override = z.object({ gates: listOf(z.string()), reason: z.string(), by: z.string() });
export type Override = Omit<z.output<typeof override>, 'by'>;

/** What all gates decided, and on what: enough to see that nothing changed until the move. */
export const policyResult = record('PolicyResult', 'The results of all gates.', {
  passed: z.boolean(),
  gates: listOf(gateResult),
  policy: z.object({ id: z.int(), digest: z.string() }).optional(),
  override: override.optional(),
  composed: z.string().optional().describe('The environment that was tested.'),
  evidenceSeen: z.int(),
  at: timestamp,
});
export type PolicyResult = z.output<typeof policyResult>;
