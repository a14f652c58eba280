// Schedules as they are kept. Reading patterns and telling the next time is for whoever runs them.
import { type Selectable, sql } from 'kysely';
import { ImagoError } from '../domain/error/imago-error.ts';
import type { ScheduleRecord, Schedules } from '../ports/database/schedules.ts';
import type { Database } from './connection/database.ts';
import { fromJson, optional, toJson } from './connection/json.ts';
import { readCursor, rowsToRead, toPage } from './connection/page.ts';
import type { SchedulesTable } from './connection/tables.ts';

/** As in the port, without what a clock is needed for: records have no `nextAt`, patterns are not checked. */
export interface ScheduleStore extends Omit<Schedules, 'check' | 'review'> {
  /** Remembers the last time and what it started. Unknown names are ignored: the schedule was deleted meanwhile. */
  recordFired(name: string, at: string, operation: string): Promise<void>;
  /** Marks it as stopped. A second call keeps the first reason. */
  stop(name: string, why: string): Promise<void>;
}

export function createScheduleStore(database: Database): ScheduleStore {
  return {
    async list(query) {
      const after = readCursor<[string]>('schedules', query, ['string']);
      const rows = await database.read((tables) =>
        tables
          .selectFrom('schedules')
          .selectAll()
          .where('name', '>', after?.[0] ?? '')
          .orderBy('name')
          .limit(rowsToRead(query))
          .execute(),
      );
      return toPage('schedules', query, rows, ({ name }) => [name], toSchedule);
    },

    async get(name) {
      const row = await database.read((tables) =>
        tables.selectFrom('schedules').selectAll().where('name', '=', name).executeTakeFirst(),
      );
      return row === undefined ? undefined : toSchedule(row);
    },

    create: (schedule) =>
      database.write(async ({ tables }) => {
        const columns = {
          name: schedule.name,
          cron: schedule.cron,
          time_zone: schedule.timeZone,
          kind: schedule.kind,
          subject: schedule.subject,
          input: toJson(schedule.input),
          requested_by: schedule.by,
          os_user: schedule.osUser ?? null,
        };
        await tables
          .insertInto('schedules')
          .values(columns)
          .onConflict((conflict) => conflict.column('name').doNothing())
          .execute();
        const row = await tables
          .selectFrom('schedules')
          .selectAll()
          .where('name', '=', schedule.name)
          .executeTakeFirstOrThrow();
        for (const [column, wanted] of Object.entries(columns)) {
          if (row[column as keyof typeof columns] === wanted) continue;
          throw new ImagoError(
            'schedule-exists',
            `Schedule ${schedule.name} exists already, with another ${column.replace('_', ' ')}.`,
          );
        }
        if (row.stopped_at === null) return toSchedule(row);
        const started = { stopped_at: null, stopped_why: null };
        await tables.updateTable('schedules').set(started).where('name', '=', schedule.name).execute();
        return toSchedule({ ...row, ...started });
      }),

    async stop(name, why) {
      await database.writeOnce((tables) =>
        tables
          .updateTable('schedules')
          .set({ stopped_at: sql<string>`clock_timestamp()`, stopped_why: why })
          .where('name', '=', name)
          .where('stopped_at', 'is', null)
          .execute(),
      );
    },

    delete: (name) =>
      database.write(async ({ tables }) => {
        const gone = await tables.deleteFrom('schedules').where('name', '=', name).executeTakeFirst();
        return gone.numDeletedRows > 0n;
      }),

    async recordFired(name, at, operation) {
      await database.writeOnce((tables) =>
        tables
          .updateTable('schedules')
          .set({ last_fired_at: at, last_operation: operation })
          .where('name', '=', name)
          .execute(),
      );
    },
  };
}

function toSchedule(row: Selectable<SchedulesTable>): ScheduleRecord {
  return {
    name: row.name,
    cron: row.cron,
    timeZone: row.time_zone,
    kind: row.kind,
    subject: row.subject,
    input: fromJson(row.input),
    by: row.requested_by,
    ...optional('osUser', row.os_user),
    createdAt: row.created_at,
    ...optional('lastFiredAt', row.last_fired_at),
    ...optional('lastOperation', row.last_operation),
    ...optional('stoppedAt', row.stopped_at),
    ...optional('stoppedWhy', row.stopped_why),
  };
}
