// What happened since a time.
import type { Change } from '../../domain/change/record.ts';
import type { Page, PageQuery } from '../page.ts';

export interface ChangesQuery extends PageQuery {
  readonly since: string;
  /** Endpoints whose audited requests count as changes. */
  readonly audited: readonly string[];
}

export interface Changes {
  /** Newest first. */
  list(query: ChangesQuery): Promise<Page<Change>>;
}
