// Images, versions, channels and their moves, evidence.
import * as z from 'zod';
import { numberingPolicies } from '../../domain/image/numbering.ts';
import { architectures } from '../../domain/image/version.ts';
import { digest, json, name, pageQuery, sentence, timestamp } from './common.ts';
import { policyResult } from './policy.ts';
import { recipeCommit } from './recipe.ts';

const simulated = z.literal(true).optional().describe('Made by a simulation: there is no disk.');

export const versionState = z.enum(['candidate', 'available', 'deprecated', 'withdrawn', 'deleted']);

export const image = z
  .object({
    name: z.string(),
    os: z.enum(['linux', 'windows']),
    architecture: z.enum(architectures),
    numbering: z.enum(numberingPolicies),
    simulated,
    createdAt: timestamp,
  })
  .meta({ id: 'Image', description: 'A named line of versions.' });

const origin = z
  .discriminatedUnion('kind', [
    z.object({
      kind: z.literal('built'),
      lockDigest: z.string(),
      recipeDigest: z.string().optional(),
      parent: z.string().optional(),
      source: recipeCommit.optional(),
    }),
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
    restricted: z.literal(true).optional().describe('Made with private inputs: never public.'),
    simulated,
    reason: z.string().optional().describe('Why it is deprecated or withdrawn.'),
    withdrawnFrom: z
      .enum(['candidate', 'available', 'deprecated'])
      .optional()
      .describe('What a restore makes of it.'),
    operation: z.string().describe('The operation that made it.'),
    createdAt: timestamp,
  })
  .meta({ id: 'Version', description: 'One immutable, numbered build of an image.' });

export const shownVersion = version
  .extend({
    support: z
      .object({
        phase: z.enum(['supported', 'ending', 'ended']),
        endsOn: z.string().describe('The last day.'),
        daysLeft: z.int().describe('Whole days until then; negative afterwards.'),
        by: z.string().describe('What it is the date of: `kubernetes 1.34`, `image node`.'),
        source: z.enum(['calendar', 'set']),
        note: z.string().optional(),
        setBy: z.string().optional(),
      })
      .optional()
      .describe('By the earliest date that concerns it; absent when there is none.'),
  })
  .meta({ id: 'ShownVersion', description: 'One version, and until when it is supported.' });

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
    composed: z.string().optional().describe('The unit that was tested together.'),
    simulated,
    at: timestamp,
  })
  .meta({ id: 'Evidence', description: 'The stored result of a test, scan or approval of one digest.' });

export const channel = z
  .object({
    image: z.string(),
    name: z.string(),
    forTesting: z.boolean().describe('Takes candidates; the others take only available versions.'),
    managed: z.boolean().describe('Moved by Imago alone.'),
    position: z.int().describe('Its place in the order of promotion.'),
    public: z.boolean().describe('Restricted versions never reach it.'),
    simulated,
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
    policy: policyResult.optional().describe('What every gate said.'),
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
    simulated,
    channel: z.string().optional(),
    move: z.int().optional().describe('The channel move that gave this answer.'),
    kubernetes: z.string().optional(),
    region: z.string().optional().describe('Where it was asked for, and is ready.'),
    reason: z.string().optional().describe('Why it is deprecated or withdrawn.'),
    nearest: z
      .array(z.string())
      .readonly()
      .optional()
      .describe('Of a version that is out of use: the nearest ones that can be used.'),
  })
  .meta({ id: 'Resolution', description: 'The exact version that a reference names now.' });

export const resolveQuery = z.strictObject({
  reference: name.describe('NAME, NAME:VERSION, NAME:CHANNEL or NAME@sha256:DIGEST.'),
  at: name.optional().describe('What it named at this time.'),
  kubernetes: name.optional().describe('1.34 or 1.34.2: of a bare name, the best available with it.'),
  region: name.optional().describe('It must be ready there.'),
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
        'The version that the channel is believed to point at (null: none); refused when it does not. Where it points now when left out.',
      ),
    back: z.boolean().optional().describe('The move may go to an older version.'),
  })
  .meta({ id: 'PromoteRequest' });

export const rollbackChannelRequest = z
  .strictObject({
    image: name,
    channel: name,
    from: name.describe(
      'The version that the channel leaves. If the channel was rolled back from it already, nothing changes; if it points elsewhere, the request is refused.',
    ),
    why: sentence,
  })
  .meta({ id: 'RollbackChannelRequest' });
