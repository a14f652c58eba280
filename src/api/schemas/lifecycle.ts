// Lineage, withdrawal, retention, limits, and support.

import * as z from 'zod';
import { version } from '../../domain/image/record.ts';
import { lineageGraph, parentStatus } from '../../domain/lineage/record.ts';
import { nodeRecord } from '../../domain/node/record.ts';
import { keeperKinds } from '../../domain/retention/retention.ts';
import { listOf, name, record, request, sentence, timestamp } from '../../domain/value/fields.ts';
import { withdrawalRecord } from '../../domain/withdrawal/record.ts';
import { pageQuery } from './common.ts';

const flag = z.enum(['true', 'false']);

export const ancestry = record('Ancestry', 'The lineage of a version.', {
  items: listOf(z.object({ ...version.shape, parent: parentStatus.optional() })).describe(
    'The version, its parent, and so on.',
  ),
  graph: lineageGraph,
});

export const descent = record('Descent', 'Everything derived from a version.', {
  items: listOf(z.object({ ...version.shape, nodes: z.int(), pools: listOf(z.string()) })).describe(
    'The version, then everything derived from it.',
  ),
  graph: lineageGraph.optional().describe('Present if it was requested.'),
});

export const descentQuery = z.strictObject({ graph: flag.default('false') });
export const versionNodesQuery = z.strictObject({
  ...pageQuery.shape,
  descendants: flag.default('true').describe('Include nodes of versions derived from it.'),
});

export const versionNode = record('VersionNode', 'The record of a live node.', {
  ...nodeRecord.omit({ goneAt: true }).shape,
});

export const withdrawal = record('Withdrawal', 'A withdrawal and its effect.', {
  ...withdrawalRecord.shape,
  versions: z.int().describe('Number of withdrawn versions.'),
  nodes: z.int().describe('Number of live nodes that still run one of them.'),
});

export const withdrawalsQuery = z.strictObject({ ...pageQuery.shape, image: name.optional() });

export const holdRequest = request('HoldRequest', { reason: sentence });
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

export const prunePlan = record('PrunePlan', 'What retains each version, and which can be deleted.', {
  items: listOf(
    z.object({
      image: z.string(),
      version: z.string(),
      state: version.shape.state,
      sizeBytes: z.number(),
      createdAt: timestamp,
      keepers: listOf(keeper).describe('What retains it. Empty if it can be deleted.'),
    }),
  ),
  kept: z.int(),
  going: z.int(),
  freedBytes: z.number().describe('Shared data counts once, and only if nothing retains it.'),
  cache: z
    .object({ folder: z.string(), bytes: z.number(), limitBytes: z.number() })
    .optional()
    .describe('The build cache. Data above its limit is deleted too, least recently used first.'),
});

export const supportDate = record('SupportDate', 'An end-of-support date.', {
  product: z.string(),
  line: z.string(),
  endsOn: z.string().describe('Last day.'),
  source: z.enum(['calendar', 'set']),
  note: z.string().optional(),
  by: z.string().optional(),
});

export const setSupportRequest = request('SetSupportRequest', {
  product: name.describe('`kubernetes`, or `image`.'),
  line: name.describe('`1.34`, or `node` or `node:1.34.2`.'),
  endsOn: name.describe('YYYY-MM-DD.'),
  note: z.string().max(2000).optional(),
});
