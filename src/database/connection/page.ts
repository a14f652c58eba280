// Lists by keyset: a page begins after the last key of the previous one, so that what is added or removed
// in the meantime neither repeats nor hides anything else.
import { ImagoError } from '../../domain/error/imago-error.ts';
import type { Page, PageQuery } from '../../ports/page.ts';

type Key = string | number;

/** The keys that the previous page ended with; `undefined` for the first page. `api-cursor-invalid` for others' cursors. */
export function readCursor<K extends readonly Key[]>(
  list: string,
  query: PageQuery,
  example: { readonly [I in keyof K]: 'string' | 'number' },
): K | undefined {
  if (query.cursor === undefined) return undefined;
  const keys = decode(query.cursor);
  const kinds: readonly string[] = ['string', ...(example as readonly string[])];
  const fits =
    keys.length === kinds.length &&
    keys[0] === list &&
    keys.every((key, index) => typeof key === kinds[index]);
  if (!fits) {
    throw new ImagoError('api-cursor-invalid', `The cursor does not belong to the list of ${list}.`);
  }
  return keys.slice(1) as unknown as K;
}

/** Cuts the row that was read beyond the page, and says where the next page begins. */
export function toPage<Row, Item>(
  list: string,
  query: PageQuery,
  rows: readonly Row[],
  keysOf: (row: Row) => readonly Key[],
  itemOf: (row: Row) => Item,
): Page<Item> {
  const shown = rows.slice(0, query.limit);
  const last = shown.at(-1);
  const items = shown.map(itemOf);
  if (rows.length <= query.limit || last === undefined) return { items };
  return { items, next: encode([list, ...keysOf(last)]) };
}

/** One row more than asked for tells whether there is another page. */
export function rowsToRead(query: PageQuery): number {
  return query.limit + 1;
}

function encode(keys: readonly Key[]): string {
  return Buffer.from(JSON.stringify(keys)).toString('base64url');
}

function decode(cursor: string): readonly unknown[] {
  try {
    const keys: unknown = JSON.parse(Buffer.from(cursor, 'base64url').toString());
    return Array.isArray(keys) ? keys : [];
  } catch {
    return [];
  }
}
