// What users add to the checklist. An extension can only demand more of a disk, except that it can allow a named file
// with a known digest that the search for secrets would report.
import * as z from 'zod';
import type { ChecklistItem } from './checklist.ts';

const maxWildcards = 4;

/** Absolute, with a literal first name, so that no pattern can remove the system itself. */
const pathPattern = z
  .string()
  .max(1024)
  .regex(/^(?:\/[^/\p{Cc}]+){2,}$/u, 'Write an absolute path with at least two names.')
  .refine(
    (path) => !path.split('/').some((name) => name === '.' || name === '..'),
    'Write it without . and ..',
  )
  .refine((path) => !path.split('/', 2).join('').includes('*'), 'The first name cannot have wildcards.')
  .refine((path) => (path.match(/\*+/g) ?? []).length <= maxWildcards, `At most ${maxWildcards} wildcards.`);

const reason = z.string().trim().min(1).max(500);

const extensionItem = z.strictObject({
  id: z.string().regex(/^[a-z][a-z0-9-]{0,62}$/),
  reason,
  remove: z.array(pathPattern).min(1).max(200),
  keep: z.array(pathPattern).max(200).optional(),
  keepDirectories: z.boolean().optional(),
});

export const checklistExtension = z.strictObject({
  items: z
    .array(extensionItem)
    .max(100)
    .default([])
    .describe('Paths that are removed from a captured disk, and that the scan demands to be absent.'),
  allow: z
    .array(
      z.strictObject({
        path: z.string().startsWith('/'),
        sha256: z.string().regex(/^[0-9a-f]{64}$/),
        reason,
      }),
    )
    .max(1000)
    .default([])
    .describe('Files that look like secrets and are none, each with its digest.'),
});
export type ChecklistExtension = z.infer<typeof checklistExtension>;

/** The built-in items always apply: an added item with the ID of a built-in one does not replace it. */
export function extendChecklist(
  items: readonly ChecklistItem[],
  extension: ChecklistExtension,
): readonly ChecklistItem[] {
  return [...items, ...extension.items.map((item) => ({ ...item, id: `user/${item.id}` }))];
}
