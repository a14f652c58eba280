// Images, versions, channels and their moves, evidence.
import * as z from 'zod';
import { digest, json, name, pageQuery, sentence, timestamp } from './common.ts';

export const versionState = z.enum(['candidate', 'available', 'deprecated', 'withdrawn', 'deleted']);

export const image = z
  .object({
    name: z.string(),
    os: z.enum(['linux', 'windows']),
    architecture: z.enum(['x64', 'arm64']),
    numbering: z.enum(['semver', 'date', 'calendar', 'kubernetes', 'kubernetes-build']),
    createdAt: timestamp,
  })
  .meta({ id: 'Image', description: 'A named line of versions.' });

const origin = z
  .discriminatedUnion('kind', [
    z.object({ kind: z.literal('built'), lockDigest: z.string() }),
    z.object({ kind: z.literal('captured'), node: z.string(), parent: z.string() }),
    z.object({ kind: z.literal('imported'), from: z.string() }),
  ])
  .meta({ id: 'Origin', description: 'Where a version came from.' });

export const version = z
  .object({
    image: z.string(),
    version: z.string(),
    digest,
    diskDigest: z.string().describe('sha256 of the raw disk.'),
    sizeBytes: z.number(),
    state: versionState,
    origin,
    kubernetes: z.string().optional(),
    reason: z.string().optional().describe('Why it is deprecated or withdrawn.'),
    operation: z.string().describe('The operation that made it.'),
    createdAt: timestamp,
  })
  .meta({ id: 'Version', description: 'One immutable, numbered build of an image.' });

export const evidence = z
  .object({
    id: z.int(),
    digest,
    kind: z.enum(['test', 'scan', 'approval']),
    passed: z.boolean(),
    summary: z.string(),
    details: json,
    by: z.string(),
    operation: z.string().optional(),
    at: timestamp,
  })
  .meta({ id: 'Evidence', description: 'The stored result of a test, scan or approval of one digest.' });

export const channel = z
  .object({
    image: z.string(),
    name: z.string(),
    forTesting: z.boolean().describe('Takes candidates; the others take only available versions.'),
    managed: z.boolean().describe('Moved by Imago alone.'),
    version: z.string().optional(),
    digest: digest.optional(),
    move: z.int().optional().describe('The move that set it.'),
    movedAt: timestamp.optional(),
  })
  .meta({ id: 'Channel', description: 'A name that points at a version.' });

export const move = z
  .object({
    id: z.int(),
    image: z.string(),
    channel: z.string(),
    from: z.string().optional(),
    to: z.string().optional().describe('Absent when a managed channel was emptied.'),
    toDigest: digest.optional(),
    by: z.string(),
    why: z.string(),
    operation: z.string().optional(),
    at: timestamp,
  })
  .meta({ id: 'Move', description: 'One move of a channel, kept for ever.' });

export const resolution = z
  .object({
    reference: z.string(),
    image: z.string(),
    version: z.string(),
    digest,
    state: versionState,
    channel: z.string().optional(),
    move: z.int().optional().describe('The channel move that gave this answer.'),
  })
  .meta({ id: 'Resolution', description: 'The exact version that a reference names now.' });

export const resolveQuery = z.strictObject({
  reference: name.describe('NAME, NAME:VERSION, NAME:CHANNEL or NAME@sha256:DIGEST.'),
});

export const movesQuery = z.strictObject({ ...pageQuery.shape, channel: name.optional() });

export const promoteRequest = z
  .strictObject({
    reference: name.describe('The version to move to; not a bare image name.'),
    channel: name,
    why: sentence,
    expect: name
      .nullable()
      .optional()
      .describe(
        'The version that the channel is believed to point at (null: none); refused when it does not.',
      ),
  })
  .meta({ id: 'PromoteRequest' });

export const rollbackChannelRequest = z
  .strictObject({ image: name, channel: name, why: sentence })
  .meta({ id: 'RollbackChannelRequest' });
