// Pools as they are recorded. What a pool has now is the provider's to report.
import * as z from 'zod';
import { digest, timestamp } from '../value/fields.ts';

export const orchestrations = ['uniform', 'flexible'] as const;

export const poolRecord = z.object({
  name: z.string(),
  provider: z.enum(['local', 'azure', 'sim', 'registry']),
  orchestration: z.enum(orchestrations),
  region: z.string().optional(),
  size: z.string(),
  reference: z.string().describe('Requested reference.'),
  follows: z.string().optional().describe('Channel that new nodes follow.'),
  image: z.string(),
  version: z.string().describe('Exact version of new nodes.'),
  digest,
  move: z.int().optional().describe('Channel move that selected the version.'),
  base: z
    .object({ image: z.string(), version: z.string(), digest })
    .optional()
    .describe('Version of the channel that a prototype overlays. Absent if new nodes use that version.'),
  nodeConfig: z.string(),
  cluster: z.string().optional().describe('Kubernetes cluster that its nodes belong to.'),
  createdAt: timestamp,
});
export type PoolRecord = z.output<typeof poolRecord>;
export type ProviderName = PoolRecord['provider'];
export type Orchestration = PoolRecord['orchestration'];

/** What new nodes of a pool are created from. A pool that was given a version, or is pinned, follows no channel. */
export type PoolImage = Pick<
  PoolRecord,
  'reference' | 'follows' | 'image' | 'version' | 'digest' | 'move' | 'base'
>;
