// Who did what: appended, never changed.
import { randomUUID } from 'node:crypto';
import type { Selectable } from 'kysely';
import type { Json } from '../../domain/value/json.ts';
import type { Audit, AuditEntry } from '../../ports/database/access.ts';
import type { Database } from '../connection/database.ts';
import { optional, optionalJson, toJsonOrNull } from '../connection/json.ts';
import { readCursor, rowsToRead, toPage } from '../connection/page.ts';
import type { AuditTable } from '../connection/tables.ts';

export function createAudit(database: Database): Audit {
  return {
    async add({ who, osUser, what, subject, before, after, requestId, status }) {
      const row = {
        who,
        os_user: osUser ?? null,
        what,
        subject,
        before: toJsonOrNull(before),
        after: toJsonOrNull(after),
        request_id: requestId,
        status,
        entry: randomUUID(),
      };
      await database.writeOnce((tables) =>
        tables
          .insertInto('audit')
          .values(row)
          .onConflict((conflict) => conflict.column('entry').doNothing())
          .execute(),
      );
    },

    async list(query) {
      const before = readCursor<[number]>('audit', query, ['number']);
      const rows = await database.read((tables) => {
        let found = tables.selectFrom('audit').selectAll();
        if (query.subject !== undefined) found = found.where('subject', '=', query.subject);
        if (before !== undefined) found = found.where('id', '<', before[0]);
        return found.orderBy('id', 'desc').limit(rowsToRead(query)).execute();
      });
      return toPage('audit', query, rows, ({ id }) => [id], toEntry);
    },
  };
}

function toEntry(row: Selectable<AuditTable>): AuditEntry {
  const { id, at, who, what, subject, status } = row;
  return {
    id,
    at,
    who,
    ...optional('osUser', row.os_user),
    what,
    subject,
    ...optionalJson<'before', Json>('before', row.before),
    ...optionalJson<'after', Json>('after', row.after),
    requestId: row.request_id,
    status,
  };
}
