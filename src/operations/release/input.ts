// The input of a release.

import { z } from 'zod';
import { recipeCommit } from '../build/input.ts';

/** Where it goes and how. */
export const wayInput = {
  provider: z.string().optional(),
  bump: z.enum(['patch', 'minor', 'major']).optional(),
  newest: z.boolean().default(false),
  /** Refuse to build when the lock is not the one of the recipe. */
  locked: z.boolean().optional(),
  source: recipeCommit.optional(),
  /** In order. A part of a matrix goes nowhere by itself. */
  channels: z.array(z.string()).default(['staging', 'production']),
  why: z.string().refine((text) => text.trim() !== '', 'must not be empty'),
  waitMs: z
    .number()
    .int()
    .min(0)
    .default(3 * 86_400_000),
};

export const releaseInput = z.object({
  recipe: z.looseObject({ name: z.string() }),
  /** The lock that is committed beside the recipe. */
  lock: z.unknown().optional(),
  ...wayInput,
});
export type ReleaseInput = z.infer<typeof releaseInput>;
