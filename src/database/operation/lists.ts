// Lists of operations and their logs, for people.
import { sql } from 'kysely';
import type { OperationLists } from '../../ports/workflow/operation.ts';
import type { Database } from '../connection/database.ts';
import { readCursor, rowsToRead, toPage } from '../connection/page.ts';
import { withSteps } from './operation-journal.ts';

export function createOperationLists(database: Database): OperationLists {
  return {
    list: (filter, query) =>
      database.read(async (tables) => {
        const before = readCursor<[number]>('operations', query, ['number']);
        let rows = tables.selectFrom('operations').selectAll();
        if (before !== undefined) rows = rows.where('seq', '<', before[0]);
        for (const column of ['state', 'kind', 'subject', 'parent'] as const) {
          const wanted = filter[column];
          if (wanted !== undefined) rows = rows.where(column, '=', wanted);
        }
        const found = await rows.orderBy('seq', 'desc').limit(rowsToRead(query)).execute();
        const page = toPage(
          'operations',
          query,
          found,
          ({ seq }) => [seq],
          (row) => row,
        );
        return { ...page, items: await withSteps(tables, page.items) };
      }),

    startingWith: (start) =>
      database.read(async (tables) => {
        const rows = await tables
          .selectFrom('operations')
          .select('id')
          .where(sql`left(id, ${start.length})`, '=', start)
          .limit(2)
          .execute();
        return rows.map(({ id }) => id);
      }),

    children: (id) =>
      database.read(async (tables) => {
        const rows = await tables
          .selectFrom('operations')
          .selectAll()
          .where('parent', '=', id)
          .orderBy('seq')
          .execute();
        return withSteps(tables, rows);
      }),

    logs: (id, query) =>
      database.read(async (tables) => {
        const after = readCursor<[number]>('operation-logs', query, ['number']);
        const rows = await tables
          .selectFrom('operation_logs')
          .select(['id', 'at', 'line'])
          .where('operation', '=', id)
          .where('id', '>', after?.[0] ?? 0)
          .orderBy('id')
          .limit(rowsToRead(query))
          .execute();
        return toPage(
          'operation-logs',
          query,
          rows,
          (row) => [row.id],
          ({ at, line }) => ({ at, line }),
        );
      }),
  };
}
