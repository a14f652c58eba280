// Pools and nodes: their records, joined with the current state at their provider.
import * as z from 'zod';
import { recipeCommit } from '../../domain/recipe/request.ts';
import { digest, name, record, timestamp } from '../../domain/value/fields.ts';
import { versionState } from './catalog.ts';
import { pageQuery } from './common.ts';
import { behind } from './lifecycle.ts';

const orchestration = z.enum(['uniform', 'flexible']);
const provider = z.enum(['local', 'azure', 'sim']);
const provisioningState = z
  .enum(['creating', 'updating', 'ready', 'failed', 'deleting', 'missing', 'unknown'])
  .describe(
    'State at the provider. `missing`: it does not exist there. `unknown`: the provider did not respond.',
  );

export const pool = record('Pool', 'Nodes that share one model.', {
  name: z.string(),
  provider,
  orchestration,
  region: z.string().optional(),
  size: z.string(),
  reference: z.string().describe('Requested reference.'),
  follows: z.string().optional().describe('Channel that new nodes follow.'),
  image: z.string(),
  version: z.string().describe('Exact version of new nodes.'),
  digest,
  move: z.int().optional().describe('Channel move that selected the version.'),
  nodeConfig: z.string(),
  createdAt: timestamp,
  capacity: z.int().optional().describe('Target number of nodes. Absent if the provider did not respond.'),
  state: provisioningState,
  behind: behind.optional(),
  forwards: z
    .array(z.string())
    .optional()
    .describe('Forwarded node ports: PORT, or HOST_PORT:PORT for the first node.'),
});

export const node = record('Node', 'One machine of a pool, with the record of what it was created from.', {
  name: z.string(),
  pool: z.string(),
  provider: z.string().optional().describe('Provider of its pool. `sim`: the node is simulated.'),
  power: z.enum(['running', 'stopped', 'unknown']).describe('`unknown`: the provider did not respond.'),
  schedulable: z.boolean(),
  state: z
    .enum([...provisioningState.options, 'starting', 'stopping', 'stopped', 'unhealthy', 'gone'])
    .describe(
      '`ready`: it is running, and its agent reported ready since it booted. `starting`: it is booting, or its agent has not reported yet. `unhealthy`: its agent reports a failure. `unknown`: its provider or its agent does not respond. `gone`: it was deleted, and only the record remains.',
    ),
  image: z.string(),
  version: z.string(),
  digest,
  reference: z.string(),
  channel: z.string().optional(),
  move: z.int().optional(),
  at: timestamp.describe('Time at which its disk was created from the image.'),
  machineId: z.string(),
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
  goneAt: timestamp.optional(),
});

export const nodeWhich = record(
  'NodeWhich',
  'The version that a node was created from, and how it was selected.',
  {
    node: z.string(),
    pool: z.string(),
    image: z.string(),
    version: z.string(),
    digest,
    reference: z.string().describe('Requested reference.'),
    channel: z.string().optional(),
    move: z.int().optional().describe('Channel move that selected the version.'),
    at: timestamp,
    moved: z
      .object({ by: z.string(), why: z.string(), at: timestamp })
      .optional()
      .describe('Record of that move.'),
    versionState: versionState.optional().describe('Current state of the version.'),
    source: recipeCommit.optional().describe('Recipe commit that the version was built from.'),
    goneAt: timestamp.optional().describe('Time at which the node, or this disk of it, was deleted.'),
  },
);

export const whichQuery = z.strictObject({
  at: z.string().min(1).max(40).optional().describe('Select the node that had this name at this time.'),
});

export const nodesQuery = z.strictObject({ ...pageQuery.shape, pool: name.optional() });
