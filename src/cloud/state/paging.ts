// Pages by the last key seen, so that what is created or deleted between two pages moves nothing.

import { invalid } from '../../domain/error/refusals.ts';
import type { Page, PageQuery } from '../../ports/page.ts';
import type { World } from './state-file.ts';

const largestPage = 1000;

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

/** Lists rows in the order of their names. `from` is a table and a condition with these parameters. */
export function pageByName<R extends { readonly name: string }, T>(
  world: World,
  query: PageQuery,
  from: string,
  parameters: readonly (string | number)[],
  itemOf: (row: R) => T,
): Page<T> {
  const rows = world.all<R>(
    `SELECT * FROM ${from} AND name > ? ORDER BY name LIMIT ?`,
    ...parameters,
    query.cursor ?? '',
    rowsFor(query),
  );
  return pageOf(query, rows, (row) => row.name, itemOf);
}
