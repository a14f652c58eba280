// A problem that Imago could not repair on its own. It stays open until a later check finds it repaired, or until a
// person resolves it with a reason.
import * as z from 'zod';

const time = z.iso.datetime({ offset: true });

export const problemRecord = z
  .object({
    id: z.int(),
    kind: z.string().describe('For example `pool-behind` or `disk-missing`.'),
    subject: z.string().describe('What it is about: `pool/NAME`, `version/NAME:VERSION`, `operation/ID`.'),
    message: z.string(),
    hint: z.string().optional(),
    count: z.int().describe('How often it was seen.'),
    firstAt: time,
    lastAt: time,
    resolvedAt: time.optional(),
    resolvedBy: z.string().optional().describe('`imago` if a later check found it repaired.'),
    reason: z.string().optional(),
  })
  .meta({ id: 'ProblemRecord' });
export type ProblemRecord = z.infer<typeof problemRecord>;

/** What a check found. The same kind and subject again is the same problem. */
export type FoundProblem = Pick<ProblemRecord, 'kind' | 'subject' | 'message' | 'hint'>;
