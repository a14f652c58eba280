// Schedules on PostgreSQL. Reading patterns and finding the next time is the task of their runner.
import { sql } from 'kysely';
import { ImagoError } from '../domain/error/imago-error.ts';
import { schedule as scheduleRecord } from '../domain/schedule/record.ts';
import type { Schedules } from '../ports/database/schedules.ts';
import type { Database } from './connection/database.ts';
import { records } from './connection/records.ts';

/** As in the port, without what needs a clock: records have no `nextAt`, patterns are not checked. */
export interface ScheduleStore extends Omit<Schedules, 'check' | 'review'> {
  /** Records the last time and the operation that it started. Unknown names are ignored: the schedule was deleted. */
  recordFired(name: string, at: string, operation: string): Promise<void>;
  /** Marks it as stopped. A second call keeps the first reason. */
  stop(name: string, why: string): Promise<void>;
}

const schedules = records('schedules', scheduleRecord.omit({ nextAt: true }), { by: 'requested_by' });
const content = ['cron', 'timeZone', 'kind', 'subject', 'input', 'by', 'osUser'] as const;

export function createScheduleStore(database: Database): ScheduleStore {
  return {
    list: (query) => database.read((tables) => schedules.page(tables, query, { by: { name: 'string' } })),
    get: (name) => database.read((tables) => schedules.find(tables, { name })),

    create: (schedule) =>
      database.write(async ({ tables }) => {
        const { name } = schedule;
        await schedules.insertIfNew(tables, schedules.row(schedule));
        const known = await schedules.find(tables, { name });
        const other = content.find(
          (field) => JSON.stringify(known?.[field]) !== JSON.stringify(schedule[field]),
        );
        if (known === undefined || other !== undefined) {
          const what = other?.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
          throw new ImagoError('schedule-exists', `Schedule ${name} exists already, with another ${what}.`);
        }
        const { stoppedAt, stoppedWhy, ...started } = known;
        if (stoppedAt === undefined) return known;
        await schedules.update(tables, { name }, { stopped_at: null, stopped_why: null });
        return started;
      }),

    async stop(name, why) {
      await database.writeOnce((tables) =>
        schedules.update(
          tables,
          { name, stopped_at: null },
          { stopped_at: sql<string>`clock_timestamp()`, stopped_why: why },
        ),
      );
    },

    delete: (name) => database.write(({ tables }) => schedules.delete(tables, { name })),

    async recordFired(name, at, operation) {
      await database.writeOnce((tables) =>
        schedules.update(tables, { name }, { last_fired_at: at, last_operation: operation }),
      );
    },
  };
}
