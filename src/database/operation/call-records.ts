// What the calls of runs returned, for the engine. One short statement for each call: this is what a step costs.
import { sql } from 'kysely';
import type { Json } from '../../domain/value/json.ts';
import type { CallRecords } from '../../ports/workflow/engine.ts';
import type { Database } from '../connection/database.ts';
import { fromJson, toJson } from '../connection/json.ts';
import { planOnce } from '../connection/pool.ts';

export function createCallRecords(database: Database): CallRecords {
  return {
    async read(run) {
      const rows = await database.read((tables) =>
        tables
          .selectFrom('calls')
          .select(['place', 'name', 'value'])
          .where('run', '=', run)
          .orderBy('place')
          .execute(),
      );
      return rows.map((row) => ({ ...row, value: fromJson<Json>(row.value) }));
    },
    async add(run, { place, name, value }) {
      await database.writeOnce((tables) =>
        sql`${planOnce} insert into imago.calls (run, place, name, value)
          values (${run}, ${place}, ${name}, ${toJson(value)}) on conflict do nothing`.execute(tables),
      );
    },
    async forget(runs) {
      await database.writeOnce((tables) =>
        tables.deleteFrom('calls').where('run', '=', sql<string>`any(${runs}::text[])`).execute(),
      );
    },
  };
}
