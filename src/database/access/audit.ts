// The audit log: appended, never changed.
import { randomUUID } from 'node:crypto';
import { auditEntry } from '../../domain/access/record.ts';
import type { Audit } from '../../ports/database/access.ts';
import type { Database } from '../connection/database.ts';
import { records } from '../connection/records.ts';

const audit = records('audit', auditEntry);

export function createAudit(database: Database): Audit {
  return {
    async add(entry) {
      const row = { ...audit.row(entry), entry: randomUUID() };
      await database.writeOnce((tables) => audit.insertIfNew(tables, row));
    },

    list: ({ subject, ...query }) =>
      database.read((tables) =>
        audit.page(tables, query, {
          where: subject === undefined ? {} : { subject },
          by: { id: 'number' },
          newestFirst: true,
        }),
      ),
  };
}
