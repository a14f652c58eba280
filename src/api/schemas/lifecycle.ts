// Lineage, withdrawal, retention, limits and support.
import * as z from 'zod';
import { keeperKinds } from '../../domain/retention/retention.ts';
import { version } from './catalog.ts';
import { digest, listOf, name, pageQuery, sentence, timestamp } from './common.ts';

const flag = z.enum(['true', 'false']);

const graph = z
  .object({
    nodes: listOf(
      z.object({
        id: z.string(),
        kind: z.enum(['recipe', 'lock', 'build', 'version', 'move', 'pool', 'node', 'capture']),
        label: z.string(),
        state: z.string().optional(),
      }),
    ),
    edges: listOf(z.object({ from: z.string(), to: z.string(), label: z.string() })),
  })
  .meta({ id: 'LineageGraph', description: 'From recipe to node and to the next version.' });

const parentStatus = z
  .object({
    channel: z
      .object({ name: z.string(), pointsAtParent: z.boolean() })
      .optional()
      .describe('The channel that the donor was made by, and whether it still points at the parent.'),
    newest: z.boolean().describe('Whether no newer version of the parent’s image is usable.'),
  })
  .describe('How the version relates to its parent: two facts.');

export const ancestry = z
  .object({
    items: listOf(z.object({ ...version.shape, parent: parentStatus.optional() })).describe(
      'The version first, then its parent, and so on.',
    ),
    graph,
  })
  .meta({ id: 'Ancestry' });

export const descent = z
  .object({
    items: listOf(z.object({ ...version.shape, nodes: z.int(), pools: listOf(z.string()) })).describe(
      'The version first, then everything made from it.',
    ),
    graph: graph.optional().describe('When it was asked for.'),
  })
  .meta({ id: 'Descent' });

export const descentQuery = z.strictObject({ graph: flag.default('false') });
export const versionNodesQuery = z.strictObject({
  ...pageQuery.shape,
  descendants: flag.default('true').describe('Also nodes of what was made from it.'),
});

export const versionNode = z
  .object({
    name: z.string(),
    pool: z.string(),
    image: z.string(),
    version: z.string(),
    digest,
    reference: z.string(),
    channel: z.string().optional(),
    move: z.int().optional(),
    at: timestamp,
    machineId: z.string(),
    schedulable: z.boolean(),
  })
  .meta({ id: 'VersionNode', description: 'A live node, by its record.' });

export const withdrawRequest = z
  .strictObject({
    reason: sentence.describe('Kept for ever.'),
    descendants: z.boolean().optional().describe('Everything made from it too.'),
    at: z.string().min(1).max(40).optional().describe('From this time on; absent: now.'),
    replace: z.boolean().optional().describe('Replace the nodes that run it, one at a time.'),
  })
  .meta({ id: 'WithdrawRequest' });

export const restoreVersionRequest = z.strictObject({ why: sentence }).meta({ id: 'RestoreVersionRequest' });

export const withdrawal = z
  .object({
    id: z.int(),
    image: z.string(),
    version: z.string(),
    cause: z.int().optional(),
    reason: z.string(),
    withDescendants: z.boolean(),
    effectiveAt: timestamp,
    by: z.string(),
    operation: z.string(),
    at: timestamp,
    appliedAt: timestamp.optional().describe('Absent while it is only planned.'),
    liftedAt: timestamp.optional(),
    liftedBy: z.string().optional(),
    liftedWhy: z.string().optional(),
    liftedOperation: z.string().optional(),
    versions: z.int().describe('How many versions are out by it.'),
    nodes: z.int().describe('Live nodes that still run one of them.'),
  })
  .meta({ id: 'Withdrawal' });

export const withdrawalsQuery = z.strictObject({ ...pageQuery.shape, image: name.optional() });

export const holdRequest = z.strictObject({ reason: sentence }).meta({ id: 'HoldRequest' });
export const hold = z
  .object({ image: z.string(), version: z.string(), reason: z.string(), by: z.string(), at: timestamp })
  .meta({ id: 'Hold', description: 'Keeps a version from being deleted.' });

const keeper = z.object({
  kind: z.enum(keeperKinds),
  name: z.string(),
  count: z.int().optional(),
});

const count = z.coerce.number<number>().int().min(0);
export const pruneQuery = z.strictObject({
  image: name.optional(),
  keepCount: count.max(100_000).optional(),
  keepDays: count.max(36_500).optional(),
});

export const pruneRequest = z
  .strictObject({
    image: name.optional(),
    keepCount: z.int().min(0).max(100_000).optional().describe('The newest so many of each image stay.'),
    keepDays: z.int().min(0).max(36_500).optional().describe('What is younger stays.'),
    expect: z.int().min(0).optional().describe('Refuse unless exactly this many versions can be deleted.'),
  })
  .meta({ id: 'PruneRequest' });

export const prunePlan = z
  .object({
    items: listOf(
      z.object({
        image: z.string(),
        version: z.string(),
        state: version.shape.state,
        sizeBytes: z.number(),
        createdAt: timestamp,
        keepers: listOf(keeper).describe('What keeps it; empty when it can go.'),
      }),
    ),
    kept: z.int(),
    going: z.int(),
    freedBytes: z.number().describe('Shared parts count once, and only when nothing keeps them.'),
    cache: z
      .object({ folder: z.string(), bytes: z.number(), limitBytes: z.number() })
      .optional()
      .describe('The build cache: what is over its limit goes too, the longest unused first.'),
  })
  .meta({ id: 'PrunePlan' });

export const limit = z
  .object({
    place: z.string().describe('The provider.'),
    name: z.enum(['galleries', 'images', 'versions', 'versions-per-image', 'replicas-per-version', 'bytes']),
    used: z.number(),
    limit: z.number(),
    percent: z.number(),
    growthPerDay: z.number().optional(),
    reachedOn: z.string().optional().describe('The day on which it is full at this pace.'),
    advice: z.string().optional().describe('What to do, when it is time to.'),
  })
  .meta({ id: 'Limit' });

export const supportDate = z
  .object({
    product: z.string(),
    line: z.string(),
    endsOn: z.string().describe('The last day.'),
    source: z.enum(['calendar', 'set']),
    note: z.string().optional(),
    by: z.string().optional(),
  })
  .meta({ id: 'SupportDate' });

export const setSupportRequest = z
  .strictObject({
    product: name.describe('`kubernetes`, or `image`.'),
    line: name.describe('`1.34`, or `node` or `node:1.34.2`.'),
    endsOn: name.describe('YYYY-MM-DD.'),
    note: z.string().max(2000).optional(),
  })
  .meta({ id: 'SetSupportRequest' });

export const behind = z
  .object({
    days: z.int().describe('Between the making of the pool’s version and that of the newest available.'),
    versions: z.int(),
    newest: z.string(),
  })
  .describe('How far the image is behind; absent when it is not known.');
