// Lineage as responses carry it.
import * as z from 'zod';
import { listOf, record } from '../value/fields.ts';

/** The id is unique within the graph, for example `version/node:1.34.2`. */
const lineageNode = z.object({
  id: z.string(),
  kind: z.enum(['recipe', 'lock', 'build', 'version', 'move', 'pool', 'node', 'capture']),
  label: z.string(),
  state: z.string().optional(),
});
export type LineageNode = z.output<typeof lineageNode>;

const lineageEdge = z.object({ from: z.string(), to: z.string(), label: z.string() });
export type LineageEdge = z.output<typeof lineageEdge>;

export const lineageGraph = record('LineageGraph', 'The graph from recipe to node and to the next version.', {
  nodes: listOf(lineageNode),
  edges: listOf(lineageEdge),
});
export type LineageGraph = z.output<typeof lineageGraph>;

/** Two facts that are easily mistaken for one. */
export const parentStatus = z
  .object({
    channel: z
      .object({ name: z.string(), pointsAtParent: z.boolean() })
      .optional()
      .describe('Channel that the donor was created from, and whether it still points to the parent.'),
    newest: z.boolean().describe("Whether no newer version of the parent's image is usable."),
  })
  .describe('The relation of the version to its parent.');
export type ParentStatus = z.output<typeof parentStatus>;

export const behind = z
  .object({
    days: z
      .int()
      .describe("Days between the creation of the pool's version and that of the newest available one."),
    versions: z.int(),
    newest: z.string(),
  })
  .describe('How far the image is behind. Absent if it is unknown.');
export type Behind = z.output<typeof behind>;
