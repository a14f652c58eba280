// The local inputs of a recipe as a client on another host sends them: a list of what its paths lead to, and the content
// of the files by sha256. The daemon knows a list by the sha256 of its text.
import * as z from 'zod';
import { localPaths } from './local-path.ts';
import { type Recipe, withoutPlace } from './recipe.ts';
import { expandRecipe, substitute } from './variables.ts';

export const sha256 = z.string().regex(/^[0-9a-f]{64}$/);
/** Relative, of at most 64 names, written without detours, even in names with line breaks. */
const placePattern = /^(?!.*(?:^|\/)\.{1,2}(?:\/|$))[^/\0]+(?:\/[^/\0]+){0,63}$/s;
const place = z.string().max(4000).regex(placePattern);

const sentEntry = z.discriminatedUnion('type', [
  z.strictObject({
    type: z.literal('file'),
    path: place,
    sha256,
    sizeBytes: z.int().nonnegative(),
    executable: z.literal(true).optional(),
  }),
  z.strictObject({ type: z.literal('directory'), path: place }),
  z.strictObject({ type: z.literal('link'), path: place, to: z.string().min(1).max(4000) }),
]);
export type SentEntry = z.output<typeof sentEntry>;
export type SentFile = Extract<SentEntry, { type: 'file' }>;

export const sentList = z
  .strictObject({
    /** The recipe's directory within the list; empty if it is the top. */
    folder: place.or(z.literal('')),
    entries: z.array(sentEntry).max(200_000),
  })
  .superRefine(({ entries }, context) => {
    const types = new Map(entries.map(({ path, type }) => [path, type]));
    const refuse = (path: string, message: string) => context.addIssue(`${path} ${message}`);
    if (types.size < entries.length) refuse('a path', 'is listed twice');
    for (const entry of entries) {
      const blocked = parentsOf(entry.path).find(
        (parent) => (types.get(parent) ?? 'directory') !== 'directory',
      );
      if (blocked !== undefined) refuse(entry.path, `is below ${blocked}, which is not a directory`);
      if (entry.type === 'link' && !linkStaysInside(entry)) refuse(entry.path, `leads to ${entry.to}`);
    }
  });
export type SentList = z.output<typeof sentList>;

function parentsOf(path: string): readonly string[] {
  const parts = path.split('/');
  return parts.slice(1).map((_, index) => parts.slice(0, index + 1).join('/'));
}

/** Only steps up at the start of a link can be counted: a later one can follow another link. */
function linkStaysInside({ path, to }: { readonly path: string; readonly to: string }): boolean {
  const parts = to.split('/').filter((part) => part !== '' && part !== '.');
  const down = parts.findIndex((part) => part !== '..');
  const up = down === -1 ? parts.length : down;
  return !to.startsWith('/') && up < path.split('/').length && !parts.slice(up).includes('..');
}

/** Returns each local path that building the recipe reads, with its variables filled in. */
export function pathsToSend(recipe: Recipe): readonly string[] {
  const paths = expandRecipe(withoutPlace(recipe)).recipes.flatMap(({ components, ...rest }) => [
    ...localPaths(rest),
    ...components.flatMap((component) =>
      (component.versions ?? ['']).flatMap((version) =>
        localPaths(component).map(({ path }) => ({ path: substitute(path, { version }).text })),
      ),
    ),
  ]);
  return [...new Set(paths.map(({ path }) => path))];
}
