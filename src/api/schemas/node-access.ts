// Consoles and timelines of nodes.
import * as z from 'zod';
import { record, request, timestamp } from '../../domain/value/fields.ts';

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

export const execRequest = request('ExecRequest', {
  command: z
    .array(z.string().max(100_000))
    .min(1)
    .describe('Program and arguments. No shell interprets them.'),
  timeoutSeconds: z.number().positive().max(3600).default(60),
});

export const execResult = record('ExecResult', 'A command that ended on a node.', {
  node: z.string(),
  exitCode: z.int().describe('124 if it exceeded the time limit.'),
  stdout: z.string(),
  stderr: z.string(),
  truncated: z.boolean().describe('Whether the output exceeded the limit; the beginning is kept.'),
});
