// Images, versions, evidence, channels, and channel moves.
import * as z from 'zod';
import { numberingPolicies } from '../../domain/image/numbering.ts';
import { architectures } from '../../domain/image/version.ts';
import { recipeCommit } from '../../domain/recipe/request.ts';
import { digest, json, name, record, timestamp } from '../../domain/value/fields.ts';
import { pageQuery } from './common.ts';
import { policyResult } from './policy.ts';

const simulated = z.literal(true).optional().describe('Simulated: there is no disk.');

export const versionState = z.enum(['candidate', 'available', 'deprecated', 'withdrawn', 'deleted']);

export const image = record('Image', 'A named line of versions.', {
  name: z.string(),
  os: z.enum(['linux', 'windows']),
  architecture: z.enum(architectures),
  numbering: z.enum(numberingPolicies),
  simulated,
  createdAt: timestamp,
});

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
  .meta({ id: 'Origin', description: 'How a version was made.' });

export const version = record('Version', 'One immutable, numbered build of an image.', {
  image: z.string(),
  version: z.string(),
  digest,
  diskDigest: z.string().describe('sha256 of the raw disk.'),
  sizeBytes: z.number(),
  state: versionState,
  origin,
  kubernetes: z.string().optional(),
  restricted: z.literal(true).optional().describe('Built with private inputs: never public.'),
  simulated,
  reason: z.string().optional().describe('Why it is deprecated or withdrawn.'),
  withdrawnFrom: z
    .enum(['candidate', 'available', 'deprecated'])
    .optional()
    .describe('State after a restore.'),
  operation: z.string().describe('Operation that created it.'),
  createdAt: timestamp,
});

export const shownVersion = version
  .extend({
    support: z
      .object({
        phase: z.enum(['supported', 'ending', 'ended']),
        endsOn: z.string().describe('Last day.'),
        daysLeft: z.int().describe('Full days until then; negative afterwards.'),
        by: z.string().describe('Subject of the date: `kubernetes 1.34`, `image node`.'),
        source: z.enum(['calendar', 'set']),
        note: z.string().optional(),
        setBy: z.string().optional(),
      })
      .optional()
      .describe('Earliest end-of-support date that applies. Absent if there is none.'),
  })
  .meta({ id: 'ShownVersion', description: 'One version and its end of support.' });

export const evidence = record('Evidence', 'The stored result of a test, scan, or approval of one digest.', {
  id: z.int(),
  digest,
  kind: z.enum(['test', 'scan', 'approval']),
  passed: z.boolean(),
  summary: z.string(),
  details: json,
  by: z.string(),
  operation: z.string().optional(),
  composed: z.string().optional().describe('Environment that was tested.'),
  simulated,
  at: timestamp,
});

export const channel = record('Channel', 'A name that points to a version.', {
  image: z.string(),
  name: z.string(),
  forTesting: z.boolean().describe('Accepts candidates; other channels accept only available versions.'),
  managed: z.boolean().describe('Moved only by Imago.'),
  position: z.int().describe('Position in the promotion order.'),
  public: z.boolean().describe('Restricted versions never reach it.'),
  simulated,
  version: z.string().optional(),
  digest: digest.optional(),
  move: z.int().optional().describe('Move that set it.'),
  movedAt: timestamp.optional(),
});

export const move = record('Move', 'One channel move, retained permanently.', {
  id: z.int(),
  image: z.string(),
  channel: z.string(),
  from: z.string().optional(),
  to: z.string().optional().describe('Absent if a managed channel was cleared.'),
  toDigest: digest.optional(),
  by: z.string(),
  why: z.string(),
  operation: z.string().optional(),
  policy: policyResult.optional().describe('The results of all gates.'),
  at: timestamp,
});

export const resolution = record('Resolution', 'The exact version that a reference resolves to.', {
  reference: z.string(),
  image: z.string(),
  version: z.string(),
  digest,
  state: versionState,
  simulated,
  channel: z.string().optional(),
  move: z.int().optional().describe('Channel move that selected it.'),
  kubernetes: z.string().optional(),
  region: z.string().optional().describe('Requested region in which it is ready.'),
  reason: z.string().optional().describe('Why it is deprecated or withdrawn.'),
  nearest: z
    .array(z.string())
    .readonly()
    .optional()
    .describe('Nearest usable versions, if this one is not usable.'),
});

export const resolveQuery = z.strictObject({
  reference: name.describe('NAME, NAME:VERSION, NAME:CHANNEL, or NAME@sha256:DIGEST.'),
  at: name.optional().describe('Resolve as of this time.'),
  kubernetes: name
    .optional()
    .describe('1.34 or 1.34.2. With a bare name, selects the best available version.'),
  region: name.optional().describe('Region in which it must be ready.'),
});

export const movesQuery = z.strictObject({ ...pageQuery.shape, channel: name.optional() });
