// Walks a paged list to its end.
import type { Page, PageQuery } from '../../ports/page.ts';

export async function* allPages<T>(
  list: (query: PageQuery) => Promise<Page<T>>,
  limit = 500,
): AsyncGenerator<T> {
  let cursor: string | undefined;
  do {
    const page = await list(cursor === undefined ? { limit } : { limit, cursor });
    yield* page.items;
    cursor = page.next;
  } while (cursor !== undefined);
}
