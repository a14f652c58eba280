// Pages by the last key seen: what is made or deleted meanwhile moves nothing.
import type { Page, PageQuery } from '../../ports/page.ts';
import { invalid } from './refusals.ts';

export const largestPage = 1000;

/** How many rows to fetch: one more than the page holds, to know whether another follows. */
export function rowsFor({ limit }: PageQuery): number {
  if (!Number.isInteger(limit) || limit < 1) throw invalid(`A page must hold at least 1 item, not ${limit}.`);
  return Math.min(limit, largestPage) + 1;
}

/** `rows` were fetched with `rowsFor`, in the order of their keys. */
export function pageOf<R, T>(
  query: PageQuery,
  rows: readonly R[],
  keyOf: (row: R) => string,
  itemOf: (row: R) => T,
): Page<T> {
  const size = rowsFor(query) - 1;
  const items = rows.slice(0, size);
  const last = items.at(-1);
  const more = rows.length > size && last !== undefined;
  return { items: items.map(itemOf), ...(more ? { next: keyOf(last) } : {}) };
}
