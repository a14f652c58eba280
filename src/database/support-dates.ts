// Dates of support that people set, and the notices about them.
import { type Kysely, type RawBuilder, type Selectable, sql } from 'kysely';
import type { VersionRecord } from '../domain/image/record.ts';
import { setDate } from '../domain/support/record.ts';
import type { SupportDate } from '../domain/support/support.ts';
import { toIso } from '../domain/value/time.ts';
import type { CountedDate, SupportDates } from '../ports/database/lifecycle.ts';
import type { VersionName } from '../ports/database/lineage.ts';
import { newestTestFailed } from './catalog/evidence.ts';
import { requireVersion } from './catalog/lookup.ts';
import { versions } from './catalog/records.ts';
import type { Database } from './connection/database.ts';
import { records } from './connection/records.ts';
import type { Tables, VersionsTable } from './connection/tables.ts';
import { readKept } from './retention/facts.ts';

const supportDates = records('support_dates', setDate, { by: 'set_by' });

export function createSupportDates(database: Database, now: () => number): SupportDates {
  return {
    list: () => database.read((tables) => supportDates.all(tables, {}, 'product', 'line')),

    set: (date) =>
      database.write(async ({ tables, emit }) => {
        const { product, line, endsOn, note, by } = date;
        const row = supportDates.row({ ...date, at: toIso(new Date(now())) });
        const set = await supportDates.put(tables, row, 'product', 'line');
        emit({ type: 'support.set', subject: `support/${product}/${line}`, data: { endsOn, note, by } });
        return set;
      }),

    unset: (product, line, by) =>
      database.write(async ({ tables, emit }) => {
        const existed = await supportDates.delete(tables, { product, line });
        if (existed) emit({ type: 'support.unset', subject: `support/${product}/${line}`, data: { by } });
        return existed;
      }),

    async used(dates) {
      const found = await database.read((tables) =>
        sql<Selectable<VersionsTable>>`
          with used as (
            select image, version from imago.channels where version is not null
            union select image, version from imago.pools
            union select image, version from imago.nodes where ended_at is null)
          select v.* from used join imago.versions v using (image, version)
          where v.state in ('available', 'deprecated')
            and exists (select from ${given(dates)} where ${concerns})
          order by v.image, v.created_at`.execute(tables),
      );
      return found.rows.map(versions.of);
    },

    ended: (dates, limit) =>
      database.read(async (tables) => {
        const available = await sql<Selectable<VersionsTable>>`
          select v.* from imago.versions v where v.state = 'available' and ${isPast(dates)}
          order by v.image, v.created_at limit ${limit}`.execute(tables);
        const unneeded = await readUnneeded(tables, dates, limit - available.rows.length);
        return [...available.rows.map(versions.of), ...unneeded];
      }),

    async regained(dates, limit) {
      const found = await database.read((tables) =>
        sql<Selectable<VersionsTable>>`
          select v.* from imago.versions v
          where v.state = 'deprecated' and not ${isPast(dates)} and not ${newestTestFailed('v.digest')}
            and exists (select from imago.evidence e where e.digest = v.digest and e.kind = 'test' and e.passed)
          order by v.image, v.created_at limit ${limit}`.execute(tables),
      );
      return found.rows.map(versions.of);
    },

    async untold(notices) {
      const told = await database.read((tables) =>
        sql<{ index: number }>`
          select given.index::integer as index
          from unnest(
            ${notices.map(({ kind }) => kind)}::text[], ${notices.map(({ subject }) => subject)}::text[],
            ${notices.map(({ mark }) => mark)}::text[]
          ) with ordinality as given (kind, subject, mark, index)
          join imago.notices using (kind, subject, mark)`.execute(tables),
      );
      const known = new Set(told.rows.map(({ index }) => index - 1));
      return notices.filter((_, index) => !known.has(index));
    },

    async tellOnce({ kind, subject, mark }, data) {
      // Most were sent before: reading costs less than trying to write.
      const known = await database.read((tables) =>
        tables
          .selectFrom('notices')
          .select('at')
          .where('kind', '=', kind)
          .where('subject', '=', subject)
          .where('mark', '=', mark)
          .executeTakeFirst(),
      );
      if (known !== undefined) return false;
      return database.write(async ({ tables, emit }) => {
        const added = await tables
          .insertInto('notices')
          .values({ kind, subject, mark, at: toIso(new Date(now())) })
          .onConflict((conflict) => conflict.columns(['kind', 'subject', 'mark']).doNothing())
          .executeTakeFirst();
        if (added.numInsertedOrUpdatedRows === 0n) return false;
        emit({ type: kind, subject, data: { ...data } });
        return true;
      });
    },

    async forgetTold(kind, subject) {
      const known = await database.read((tables) =>
        tables
          .selectFrom('notices')
          .select('at')
          .where('kind', '=', kind)
          .where('subject', '=', subject)
          .limit(1)
          .executeTakeFirst(),
      );
      if (known === undefined) return;
      await database.write(({ tables }) =>
        tables.deleteFrom('notices').where('kind', '=', kind).where('subject', '=', subject).execute(),
      );
    },
  };
}

/** Deprecated versions that nothing keeps. Most of those that something uses are left out before the rules are asked. */
async function readUnneeded(
  tables: Kysely<Tables>,
  dates: readonly CountedDate[],
  limit: number,
): Promise<readonly VersionRecord[]> {
  const found = await sql<VersionName>`
    select v.image, v.version from imago.versions v
    where v.state = 'deprecated' and ${isPast(dates)}
      and not exists (select from imago.channels c where c.image = v.image and c.version = v.version)
      and not exists (select from imago.pools p where p.image = v.image and p.version = v.version)
      and not exists (select from imago.nodes n
        where n.image = v.image and n.version = v.version and n.ended_at is null)
    order by v.image, v.created_at`.execute(tables);
  const unneeded: VersionRecord[] = [];
  for (const [image, names] of Map.groupBy(found.rows, (name) => name.image)) {
    if (unneeded.length >= limit) break;
    const kept = await readKept(tables, image);
    for (const { version } of names) {
      if (unneeded.length >= limit) break;
      if (!kept.has(version)) unneeded.push(await requireVersion(tables, image, version));
    }
  }
  return unneeded;
}

/** Whether one of the dates, which are all past, counts for the version `v`. */
function isPast(dates: readonly CountedDate[]): RawBuilder<boolean> {
  return sql<boolean>`exists (
    select from ${given(dates)}
    where ${concerns} and (d.chosen or v.created_at < d.ends_on + interval '1 day'))`;
}

/** The dates as a table `d`. */
function given(dates: readonly (SupportDate & { readonly chosen?: boolean })[]): RawBuilder<unknown> {
  return sql`unnest(${dates.map(({ product }) => product)}::text[], ${dates.map(({ line }) => line)}::text[],
    ${dates.map(({ endsOn }) => endsOn)}::date[], ${dates.map(({ chosen }) => chosen === true)}::boolean[])
    as d (product, line, ends_on, chosen)`;
}

/** The same rule as `datesOf` in the domain. */
const concerns = sql`(
  (d.product = 'image' and d.line in (v.image, v.image || ':' || v.version))
  or (d.product = 'kubernetes' and d.line = substring(v.kubernetes from '^v?([0-9]+[.][0-9]+)')))`;
