// Images and their versions as they are recorded. A version's content never changes and its number is never
// reused (rule 5); only its state changes.
import * as z from 'zod';
import { digest, record, simulated, timestamp } from '../value/fields.ts';
import { numberingPolicies } from './numbering.ts';
import { architectures, operatingSystems } from './platform.ts';
import { commitPattern } from './recipe-commit.ts';
import { restorableStates, versionStates } from './version-state.ts';

export const image = record('Image', 'A named line of versions.', {
  name: z.string(),
  os: z.enum(operatingSystems),
  architecture: z.enum(architectures),
  numbering: z.enum(numberingPolicies),
  simulated,
  createdAt: timestamp,
});
export type ImageRecord = z.output<typeof image>;

export const commitFields = {
  commit: z.string().regex(commitPattern),
  dirty: z.boolean().describe('The build differs from that commit.'),
};
export const recipeCommit = record('RecipeCommit', 'The commit of a recipe.', commitFields);

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
export type Origin = z.output<typeof origin>;

export const version = record('Version', 'One immutable, numbered build of an image.', {
  image: z.string(),
  version: z.string(),
  digest,
  diskDigest: z.string().describe('sha256 of the raw disk.'),
  sizeBytes: z.number(),
  state: z.enum(versionStates),
  origin,
  kubernetes: z.string().optional(),
  restricted: z.literal(true).optional().describe('Built with private inputs: never public.'),
  simulated,
  reason: z.string().optional().describe('Why it is deprecated or withdrawn.'),
  withdrawnFrom: z.enum(restorableStates).optional().describe('State after a restore.'),
  operation: z.string().describe('Operation that created it.'),
  /** Later than that of every version that the image had before, regardless of the clock (`stampAfter`). */
  createdAt: timestamp,
});
export type VersionRecord = z.output<typeof version>;
