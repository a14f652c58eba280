// Converts the paging of requests to that of ports, and reads all pages of a list.
import type { Page, PageQuery } from '../../../ports/page.ts';

export function pageQuery(query: {
  readonly limit: number;
  readonly cursor?: string | undefined;
}): PageQuery {
  return { limit: query.limit, ...(query.cursor === undefined ? {} : { cursor: query.cursor }) };
}

/** Yields every item of a list, and reads a page when it is needed. */
export async function* allItems<T>(
  list: (query: PageQuery) => Promise<Page<T>>,
  limit = 500,
): AsyncGenerator<T> {
  let cursor: string | undefined;
  do {
    const page = await list(pageQuery({ limit, cursor }));
    yield* page.items;
    cursor = page.next;
  } while (cursor !== undefined);
}
