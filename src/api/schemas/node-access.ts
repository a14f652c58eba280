// Consoles and timelines of nodes.
import * as z from 'zod';
import { record, timestamp } from '../../domain/value/fields.ts';

export const consoleQuery = z.strictObject({
  lines: z.coerce.number().int().min(0).max(10_000).default(100).describe('Number of lines from the end.'),
});

export const nodeConsole = record('NodeConsole', 'The last lines of the boot console of a node.', {
  node: z.string(),
  lines: z.array(z.string()).describe('Oldest first.'),
});

export const nodeTimeline = record('NodeTimeline', 'The boot of a node, from power-on to ready.', {
  node: z.string(),
  startedAt: timestamp.describe('Time at which the machine was powered on.'),
  phase: z.enum(['booting', 'applying', 'ready', 'failed']),
  readyMs: z.number().optional().describe('Absent until the node is ready.'),
  entries: z.array(
    z.object({
      name: z.string(),
      kind: z.enum(['stage', 'step']),
      startMs: z.number().describe('Milliseconds since the machine was powered on.'),
      durationMs: z.number(),
      state: z.enum(['running', 'done', 'unchanged', 'failed']).optional(),
    }),
  ),
});
