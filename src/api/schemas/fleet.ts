// Pools and nodes: what Imago remembers of them, joined with what their provider says now.
import * as z from 'zod';
import { versionState } from './catalog.ts';
import { digest, name, pageQuery, timestamp } from './common.ts';
import { behind } from './lifecycle.ts';
import { recipeCommit } from './recipe.ts';

const orchestration = z.enum(['uniform', 'flexible']);
const capacity = z.int().min(0).max(100_000);
const provider = z.enum(['local', 'azure', 'sim']);
const provisioningState = z
  .enum(['creating', 'updating', 'ready', 'failed', 'deleting', 'missing', 'unknown'])
  .describe('By its provider; `missing`: it has no such thing, `unknown`: it did not answer.');

export const pool = z
  .object({
    name: z.string(),
    provider,
    orchestration,
    region: z.string().optional(),
    size: z.string(),
    reference: z.string().describe('What was asked for.'),
    follows: z.string().optional().describe('The channel that new nodes follow.'),
    image: z.string(),
    version: z.string().describe('The exact version that new nodes are made from.'),
    digest,
    move: z.int().optional().describe('The channel move that answered.'),
    nodeConfig: z.string(),
    createdAt: timestamp,
    capacity: z
      .int()
      .optional()
      .describe('How many nodes are wanted; absent when the provider did not answer.'),
    state: provisioningState,
    behind: behind.optional(),
    forwards: z
      .array(z.string())
      .optional()
      .describe(
        'Ports of its nodes that the computer of the nodes forwards: PORT, or HOST:PORT for its first node.',
      ),
  })
  .meta({ id: 'Pool', description: 'Nodes made from one model.' });

export const node = z
  .object({
    name: z.string(),
    pool: z.string(),
    provider: z.string().optional().describe('That of its pool; `sim`: the node is simulated.'),
    power: z.enum(['running', 'stopped', 'unknown']).describe('`unknown`: the provider did not answer.'),
    schedulable: z.boolean(),
    state: z
      .enum([...provisioningState.options, 'starting', 'stopping', 'stopped', 'unhealthy', 'gone'])
      .describe(
        '`ready`: it runs, and its agent reported that it is ready since it booted. `starting`: it boots, or its agent has not reported yet. `unhealthy`: its agent reports a failure. `unknown`: its provider did not answer, or its agent is silent. `gone`: only the record is left.',
      ),
    image: z.string(),
    version: z.string(),
    digest,
    reference: z.string(),
    channel: z.string().optional(),
    move: z.int().optional(),
    at: timestamp.describe('When its disk was made from the image.'),
    machineId: z.string(),
    health: z
      .enum(['unknown', 'healthy', 'unhealthy'])
      .optional()
      .describe('What its agent says; `unknown` until it has spoken, and when it has fallen silent.'),
    trouble: z.string().optional().describe('Why it is not healthy though it runs, in words.'),
    error: z
      .object({ code: z.string(), message: z.string() })
      .optional()
      .describe("Why its state is `failed`, in its provider's words."),
    address: z.string().optional().describe('In the network of its pool, while it runs.'),
    forwards: z
      .array(z.object({ guestPort: z.int(), hostPort: z.int().describe('On 127.0.0.1.') }))
      .optional()
      .describe('Ports of the computer that it runs on which lead to it.'),
    goneAt: timestamp.optional(),
  })
  .meta({ id: 'Node', description: 'One machine of a pool, with the record of what it was made from.' });

export const nodeWhich = z
  .object({
    node: z.string(),
    pool: z.string(),
    image: z.string(),
    version: z.string(),
    digest,
    reference: z.string().describe('What was asked for.'),
    channel: z.string().optional(),
    move: z.int().optional().describe('The channel move that answered.'),
    at: timestamp,
    moved: z
      .object({ by: z.string(), why: z.string(), at: timestamp })
      .optional()
      .describe('The record of that move, kept for ever.'),
    versionState: versionState.optional().describe('What the version is by now.'),
    source: recipeCommit.optional().describe('The commit of the recipe that the version was built from.'),
    goneAt: timestamp.optional().describe('When the node, or this disk of it, went.'),
  })
  .meta({ id: 'NodeWhich', description: 'Which version a node was made from, and why that one.' });

export const whichQuery = z.strictObject({
  at: z.string().min(1).max(40).optional().describe('The node that there was at this time.'),
});

export const nodesQuery = z.strictObject({ ...pageQuery.shape, pool: name.optional() });

export const createPoolRequest = z
  .strictObject({
    name,
    reference: name.describe('The image: NAME:VERSION, NAME:CHANNEL or NAME@sha256:DIGEST.'),
    capacity,
    size: name.optional().describe("Machine size in the provider's words."),
    provider: name.optional().describe("Defaults to the daemon's own."),
    pin: z.boolean().optional().describe('Do not follow the channel.'),
    region: name.optional(),
    orchestration: orchestration.optional(),
    nodeConfig: z
      .string()
      .max(512 * 1024)
      .optional()
      .describe('The node config document, as JSON. Secrets stand in it by their names, as `secret:NAME`.'),
    forwards: z
      .array(z.string().max(11))
      .max(32)
      .optional()
      .describe(
        'Ports of the nodes that are reached through the computer that they run on: PORT or HOST:PORT.',
      ),
  })
  .meta({ id: 'CreatePoolRequest' });

export const setConfigRequest = z
  .strictObject({
    document: z
      .string()
      .max(512 * 1024)
      .optional()
      .describe(
        'The node config, as JSON. Secrets are listed by name, as `secret:NAME`. Hotfixes stay unless it has `hotfixes`.',
      ),
    hotfix: z
      .record(z.string(), z.json())
      .optional()
      .describe('Or one component on top of what is there: an item of `hotfixes` of the node config.'),
  })
  .meta({ id: 'SetConfigRequest', description: 'Exactly one of the two.' });

export const scalePoolRequest = z
  .strictObject({
    capacity,
    expect: capacity
      .optional()
      .describe('Refuse unless the pool has this many nodes, or `capacity` already.'),
  })
  .meta({ id: 'ScalePoolRequest' });

export const deletePoolQuery = z.strictObject({
  expect: z.coerce
    .number<number>()
    .int()
    .min(0)
    .optional()
    .describe('Refuse unless the pool has this many nodes.'),
});

export const setPoolImageRequest = z
  .strictObject({ reference: name, pin: z.boolean().optional().describe('Do not follow the channel.') })
  .meta({ id: 'SetPoolImageRequest' });
