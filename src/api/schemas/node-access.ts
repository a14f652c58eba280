// Consoles, shells and timelines of nodes.
import * as z from 'zod';
import { timestamp } from './common.ts';

export const consoleQuery = z.strictObject({
  lines: z.coerce.number().int().min(0).max(10_000).default(100).describe('How many of the last lines.'),
});

export const nodeConsole = z
  .object({ node: z.string(), lines: z.array(z.string()).describe('Oldest first.') })
  .meta({ id: 'NodeConsole', description: 'The end of what a node said on its boot console.' });

export const nodeTimeline = z
  .object({
    node: z.string(),
    startedAt: timestamp.describe('When the machine was switched on.'),
    phase: z.enum(['booting', 'applying', 'ready', 'failed']),
    readyMs: z.number().optional().describe('Absent until the node was ready in this boot.'),
    entries: z.array(
      z.object({
        name: z.string(),
        kind: z.enum(['stage', 'step']),
        startMs: z.number().describe('Since the machine was switched on.'),
        durationMs: z.number(),
        state: z.enum(['running', 'done', 'unchanged', 'failed']).optional(),
      }),
    ),
  })
  .meta({ id: 'NodeTimeline', description: 'How a node came up, from being switched on to ready.' });
