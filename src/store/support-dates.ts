// Dates of support that people set, and what was told about them.
import { type Selectable, sql } from 'kysely';
import { toIso } from '../domain/time.ts';
import type { DatedVersion, SetSupportDate, SupportDates } from '../ports/lifecycle.ts';
import { toVersion } from './catalogue-rows.ts';
import type { Database } from './database.ts';
import type { VersionsTable } from './tables.ts';

export function createSupportDates(database: Database, now: () => number): SupportDates {
  return {
    async list() {
      const found = await database.read((tables) =>
        sql<SetSupportDate>`
          select product, line, ends_on::text as "endsOn", note, set_by as "by", at
          from imago.support_dates order by product, line`.execute(tables),
      );
      return found.rows;
    },

    set: (date) =>
      database.write(async ({ tables, emit }) => {
        const { product, line, endsOn, note, by } = date;
        const columns = { ends_on: endsOn, note, set_by: by, at: toIso(new Date(now())) };
        await tables
          .insertInto('support_dates')
          .values({ product, line, ...columns })
          .onConflict((conflict) => conflict.columns(['product', 'line']).doUpdateSet(columns))
          .execute();
        emit({ type: 'support.set', subject: `support/${product}/${line}`, data: { endsOn, note, by } });
        return { ...date, at: columns.at };
      }),

    unset: (product, line, by) =>
      database.write(async ({ tables, emit }) => {
        const gone = await tables
          .deleteFrom('support_dates')
          .where('product', '=', product)
          .where('line', '=', line)
          .executeTakeFirst();
        if (gone.numDeletedRows === 0n) return false;
        emit({ type: 'support.unset', subject: `support/${product}/${line}`, data: { by } });
        return true;
      }),

    async concerned(dates) {
      const minors = dates.filter(({ product }) => product === 'kubernetes').map(({ line }) => line);
      const lines = dates.filter(({ product }) => product === 'image').map(({ line }) => line);
      const found = await database.read((tables) =>
        sql<Selectable<VersionsTable> & { used: boolean }>`
          select v.*, (
            exists (select from imago.channels c where c.image = v.image and c.version = v.version)
            or exists (select from imago.pools p where p.image = v.image and p.version = v.version)
            or exists (select from imago.nodes n
              where n.image = v.image and n.version = v.version and n.ended_at is null)) as used
          from imago.versions v
          where v.state in ('available', 'deprecated') and (
            (v.kubernetes is not null and regexp_replace(v.kubernetes, '^v?([0-9]+[.][0-9]+).*$', '\\1')
              = any(${minors}::text[]))
            or v.image = any(${lines}::text[]) or v.image || ':' || v.version = any(${lines}::text[]))
          order by v.image, v.created_at`.execute(tables),
      );
      return found.rows.map(({ used, ...row }): DatedVersion => ({ ...toVersion(row), used }));
    },

    tellOnce: ({ kind, subject, mark }, data) =>
      database.write(async ({ tables, emit }) => {
        const added = await tables
          .insertInto('notices')
          .values({ kind, subject, mark, at: toIso(new Date(now())) })
          .onConflict((conflict) => conflict.columns(['kind', 'subject', 'mark']).doNothing())
          .executeTakeFirst();
        if (added.numInsertedOrUpdatedRows === 0n) return false;
        emit({ type: kind, subject, data: { ...data } });
        return true;
      }),
  };
}
