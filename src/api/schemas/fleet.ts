// Pools and nodes: their records, joined with the current state at their provider.

import * as z from 'zod';
import { freshness } from '../../domain/evidence/freshness.ts';
import { recipeCommit, version } from '../../domain/image/record.ts';
import { behind } from '../../domain/lineage/record.ts';
import { nodeRecord } from '../../domain/node/record.ts';
import { poolRecord } from '../../domain/pool/record.ts';
import { name, record, timestamp } from '../../domain/value/fields.ts';
import { pageQuery } from './common.ts';

const provisioningState = z
  .enum(['creating', 'updating', 'ready', 'failed', 'deleting', 'missing', 'unknown'])
  .describe(
    'State at the provider. `missing`: it does not exist there. `unknown`: the provider did not respond.',
  );

export const pool = record('Pool', 'Nodes that share one model.', {
  ...poolRecord.shape,
  capacity: z.int().optional().describe('Target number of nodes. Absent if the provider did not respond.'),
  state: provisioningState,
  behind: behind.optional(),
  freshness: freshness.optional().describe('The newest comparison of the packages of its image.'),
  forwards: z
    .array(z.string())
    .optional()
    .describe('Forwarded node ports: PORT, or HOST_PORT:PORT for the first node.'),
});

export const node = record('Node', 'One machine of a pool, with the record of what it was created from.', {
  ...nodeRecord.shape,
  provider: z.string().optional().describe('Provider of its pool. `sim`: the node is simulated.'),
  power: z.enum(['running', 'stopped', 'unknown']).describe('`unknown`: the provider did not respond.'),
  state: z
    .enum([...provisioningState.options, 'starting', 'stopping', 'stopped', 'unhealthy', 'gone'])
    .describe(
      '`ready`: it is running, and its agent reported ready since it booted. `starting`: it is booting, or its agent has not reported yet. `unhealthy`: its agent reports a failure. `unknown`: its provider or its agent does not respond. `gone`: it was deleted, and only the record remains.',
    ),
  health: z
    .enum(['unknown', 'healthy', 'unhealthy'])
    .optional()
    .describe('Health reported by its agent. `unknown` before the first report, and after a report timeout.'),
  trouble: z.string().optional().describe('Why it is running but not healthy.'),
  error: z
    .object({ code: z.string(), message: z.string() })
    .optional()
    .describe('Why its state is `failed`, as the provider reports it.'),
  address: z.string().optional().describe('Address in the network of its pool, while it is running.'),
  forwards: z
    .array(z.object({ guestPort: z.int(), hostPort: z.int().describe('On 127.0.0.1.') }))
    .optional()
    .describe('Ports of its host that are forwarded to it.'),
});

export const nodeWhich = record(
  'NodeWhich',
  'The version that a node was created from, and how it was selected.',
  {
    node: z.string(),
    ...nodeRecord.omit({ name: true, machineId: true, schedulable: true }).shape,
    moved: z
      .object({ by: z.string(), why: z.string(), at: timestamp })
      .optional()
      .describe('Record of that move.'),
    versionState: version.shape.state.optional().describe('Current state of the version.'),
    source: recipeCommit.optional().describe('Recipe commit that the version was built from.'),
    goneAt: timestamp.optional().describe('Time at which the node, or this disk of it, was deleted.'),
  },
);

export const whichQuery = z.strictObject({
  at: z.string().min(1).max(40).optional().describe('Select the node that had this name at this time.'),
});

export const nodesQuery = z.strictObject({ ...pageQuery.shape, pool: name.optional() });
