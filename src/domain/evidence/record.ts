// The stored results of tests, scans, and approvals, and the environments that were tested.
import * as z from 'zod';
import { digest, json, record, simulated, timestamp } from '../value/fields.ts';

export const evidence = record(
  'Evidence',
  'The stored result of a test, scan, approval, or capture of one digest.',
  {
    id: z.int(),
    digest,
    kind: z
      .enum(['test', 'scan', 'approval', 'capture', 'gates', 'freshness'])
      .describe(
        '`capture`: what a capture removed and added. `gates`: whether a pool can use a prototype. `freshness`: the packages that its archive has in newer versions.',
      ),
    passed: z.boolean(),
    summary: z.string(),
    details: json,
    by: z.string(),
    operation: z.string().optional(),
    composed: z.string().optional().describe('Environment that was tested.'),
    simulated,
    at: timestamp,
  },
);
export type Evidence = z.output<typeof evidence>;

/** The id is the digest of the content: two tests of the same unit have the same. */
export const composed = record('ComposedVersion', 'Environment that was tested.', {
  id: digest,
  imago: z.string(),
  image: z.string(),
  version: z.string(),
  digest,
  recipeDigest: z.string().optional(),
  lockDigest: z.string().optional(),
  agent: z.string().optional(),
  nodeConfig: z.object({ schemaVersion: z.int(), digest: z.string() }).optional(),
  kubernetes: z.string().optional(),
  at: timestamp,
});
export type ComposedRecord = z.output<typeof composed>;
/** What is not known, because the test had none of it, is absent. */
export type ComposedVersion = Omit<ComposedRecord, 'id' | 'at'>;
