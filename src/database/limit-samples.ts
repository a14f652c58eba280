// How full galleries were, a row a day: what a forecast is made from.
import { sql } from 'kysely';
import type { LimitSample } from '../domain/limits/limits.ts';
import type { LimitSamples } from '../ports/database/lifecycle.ts';
import type { Database } from './connection/database.ts';

export function createLimitSamples(database: Database): LimitSamples {
  return {
    async record(place, name, day, used, limit) {
      await database.writeOnce((tables) =>
        tables
          .insertInto('limit_samples')
          .values({ place, name, day, used, ceiling: limit })
          .onConflict((conflict) =>
            conflict.columns(['place', 'name', 'day']).doUpdateSet({ used, ceiling: limit }),
          )
          .execute(),
      );
    },

    async list(place, since) {
      const found = await database.read((tables) =>
        sql<LimitSample & { name: string }>`
          select name, day::text as day, used from imago.limit_samples
          where place = ${place} and day >= ${since}::date order by name, day`.execute(tables),
      );
      return found.rows;
    },

    async versionsByDay(days) {
      const found = await database.read((tables) =>
        sql<LimitSample>`
          select day::date::text as day,
            (select count(*) from imago.versions) - coalesce((
              select count(*) from imago.versions
              where created_at >= (day::date + 1)::timestamp at time zone 'UTC'), 0) as used
          from generate_series(
            (now() at time zone 'UTC')::date - ${days}::integer, (now() at time zone 'UTC')::date, interval '1 day')
            as day`.execute(tables),
      );
      return found.rows;
    },
  };
}
