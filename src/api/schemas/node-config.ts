// The active, target, and pending config of a node.
import * as z from 'zod';
import { record, timestamp } from '../../domain/value/fields.ts';

const cost = z.enum(['live', 'restart', 'drain', 'reimage']);
const document = z
  .record(z.string(), z.json())
  .describe('The document. Secrets are left out. Absent when Imago does not know the text of that digest.');

const told = z.object({
  digest: z.string().describe('sha256 of the text that the node read.'),
  schemaVersion: z.string(),
  document: document.optional(),
});

export const nodeConfigView = record('NodeConfig', 'The config of a node, as the node reports it.', {
  node: z.string(),
  pool: z.string(),
  phase: z.enum(['booting', 'applying', 'ready', 'failed']).optional(),
  reportedAt: timestamp.optional().describe('Absent until the node reported since it booted.'),
  config: told.optional().describe('Active config: the last one that was applied and verified.'),
  wanted: told.optional().describe('Target config, if it is not the active one.'),
  pending: z
    .array(z.object({ field: z.string(), sentence: z.string(), cost }))
    .describe('Changes of the target config.'),
  waiting: z.enum(['restart', 'drain', 'reimage']).optional().describe('What the target config needs.'),
  error: z
    .object({
      class: z.string(),
      message: z.string(),
      retry: z.boolean(),
      remedy: z.string().optional(),
    })
    .optional()
    .describe('Why the node failed, or why it rejected or reverted the target config.'),
});
