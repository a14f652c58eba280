// Small parts that the schemas of a recipe share.
import * as z from 'zod';
import { parseBytes } from '../value/bytes.ts';
import { parseDuration } from '../value/duration.ts';
import { parsed } from '../value/fields.ts';
import { orList } from '../value/suggest.ts';

/** Text that cannot be empty. */
export const words = z.string().min(1);

export const remove = z.literal(true).describe('Takes away what the recipes below have under this name.');

/** `30GiB`, as bytes. */
export const size = z.string().transform(parsed(parseBytes));

/** `90s`, as milliseconds. */
export const duration = z.string().transform(parsed(parseDuration));

/** Writes out a name that stands alone as the object that it is short for. */
export function named<T extends { readonly name: string }>(item: string | T): T {
  return typeof item === 'string' ? ({ name: item } as T) : item;
}

/** Names the unit of a time limit, which the recipe's author wrote with it. */
export function timed<T extends { readonly timeout?: number | undefined }>({ timeout, ...rest }: T) {
  return { ...rest, timeoutMs: timeout } as Omit<T, 'timeout'> & { timeoutMs?: number };
}

export const sha256 = z.string().describe('64 lower-case hexadecimal digits.');

/** The content of a file, here or in a file beside the recipe. */
export const textFields = {
  content: z.string().optional().describe('The text itself.'),
  file: words.optional().describe('The file that holds it, from the folder of the recipe.'),
} as const;

export const configFile = z
  .strictObject({
    path: words.describe('Where it goes: an absolute path.'),
    ...textFields,
    mode: z.string().optional().describe('Permission bits in octal, in quotes. "0644" when left out.'),
    owner: words
      .optional()
      .describe('USER:GROUP, by name or number (in a component by number). root:root when left out.'),
    remove: remove.optional(),
  })
  .describe('A file on the node.');

/** Exactly one of `keys`, and the others only beside the key that they belong to. */
export function oneOf(keys: readonly string[], belongs: Readonly<Record<string, readonly string[]>> = {}) {
  return (value: Readonly<Record<string, unknown>>, context: z.RefinementCtx): void => {
    const given = keys.filter((key) => value[key] !== undefined);
    if (given.length !== 1) {
      const names = orList(keys.map((key) => `\`${key}\``));
      const message = given.length === 0 ? `needs one of ${names}` : `has more than one of ${names}`;
      context.addIssue({ code: 'custom', message });
      return;
    }
    for (const [key, owners] of Object.entries(belongs)) {
      if (value[key] === undefined || owners.includes(given[0] ?? '')) continue;
      context.addIssue({
        code: 'custom',
        path: [key],
        message: `goes only with \`${owners.join('` or `')}\``,
      });
    }
  };
}
