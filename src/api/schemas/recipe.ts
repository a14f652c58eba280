// The shape of a recipe, strict with what people write. Rules that no schema can state are the domain's.
import * as z from 'zod';
import { componentKinds, type Recipe } from '../../domain/recipe.ts';
import { json } from './common.ts';

const component = z
  .strictObject({
    name: z.string().min(1),
    kind: z.enum(componentKinds).default('package'),
    version: z.string().min(1),
    source: z.string().optional().describe('Where it comes from: an address, a file or a folder.'),
    sha256: z
      .string()
      .optional()
      .describe('Of what the source gives, to fix it here and not only in the lock.'),
    destination: z.string().optional().describe('Where a binary or a tree of files goes: an absolute path.'),
  })
  .describe('One versioned thing on the node.');

export const recipe = z
  .strictObject({
    name: z.string().describe('The image that versions are made of.'),
    numbering: z
      .enum(['semver', 'date', 'calendar', 'kubernetes', 'kubernetes-build'])
      .default('semver')
      .describe('How versions are numbered.'),
    os: z.enum(['linux', 'windows']).default('linux'),
    architecture: z.enum(['x64', 'arm64']).default('x64'),
    kubernetes: z.string().optional().describe('Needed by the Kubernetes numbering policies.'),
    components: z.array(component).default([]),
    settings: z.record(z.string(), json).default({}),
  })
  .describe('What is on a node: the single source of truth.');

/** The domain's recipe, without the fields that were left out. */
export function toRecipe(checked: z.output<typeof recipe>): Recipe {
  return JSON.parse(JSON.stringify(checked)) as Recipe;
}
