// The config of one node: what is in force, what it was told since, and what stands between the two.
import * as z from 'zod';
import { timestamp } from './common.ts';

const cost = z.enum(['live', 'restart', 'drain', 'reimage']);
const document = z
  .record(z.string(), z.json())
  .describe('The document. Secrets are left out. Absent when Imago does not know the text of that digest.');

const told = z.object({
  digest: z.string().describe('sha256 of the text that the node read.'),
  schemaVersion: z.string(),
  document: document.optional(),
});

export const nodeConfigView = z
  .object({
    node: z.string(),
    pool: z.string(),
    phase: z.enum(['booting', 'applying', 'ready', 'failed']).optional(),
    reportedAt: timestamp.optional().describe('Absent until the node has reported in its last boot.'),
    config: told.optional().describe('In force: the last that was applied and verified.'),
    wanted: told.optional().describe('Read last, when it is not the one in force.'),
    pending: z
      .array(z.object({ field: z.string(), sentence: z.string(), cost }))
      .describe('What the wanted config would change.'),
    waiting: z.enum(['restart', 'drain', 'reimage']).optional().describe('What the wanted config waits for.'),
    error: z
      .object({
        class: z.string(),
        message: z.string(),
        retry: z.boolean(),
        remedy: z.string().optional(),
      })
      .optional()
      .describe('Why the node failed, or why it refused the wanted config or took it back.'),
  })
  .meta({ id: 'NodeConfig', description: 'The config of one node, as the node itself says.' });
