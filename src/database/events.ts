// The log of what happens, for watchers. Events are shown in the order of their ids, and none before all with a lower id
// are there or will never be (see migration 15): a watcher that asks for what came after the last one misses nothing.
import { type Kysely, sql } from 'kysely';
import type { Events, ImagoEvent } from '../ports/database/events.ts';
import type { Database } from './connection/database.ts';
import { fromJson } from './connection/json.ts';
import { listenForEvents } from './connection/listen.ts';
import { planOnce } from './connection/pool.ts';
import type { Tables } from './connection/tables.ts';

export interface EventRetention {
  readonly maxAgeMs: number;
  readonly maxCount: number;
  /** Never fewer than this many, whatever their age: a clock that jumps ahead must not empty the log. */
  readonly minCount: number;
}

export interface EventLog extends Events {
  /** Deletes what is beyond the retention and returns how many went. */
  trim(retention?: Partial<EventRetention>): Promise<number>;
  /** Ends the listening. A second call does nothing. */
  close(): Promise<void>;
}

const usualRetention: EventRetention = { maxAgeMs: 7 * 24 * 3_600_000, maxCount: 500_000, minCount: 1_000 };

export function createEvents(database: Database): EventLog {
  const listening = listenForEvents(database.url);

  return {
    async add(event) {
      await database.write(async ({ emit }) => emit(event));
    },
    async list({ subject, after, limit }) {
      const rows = await database.read(async (tables) => {
        const query = tables
          .selectFrom('events')
          .selectAll()
          .where('id', '>', after)
          .where('id', '<=', await settledEvents(tables))
          .orderBy('id')
          .limit(limit);
        return (subject === undefined ? query : query.where('subject', '=', subject)).execute();
      });
      return rows.map((row): ImagoEvent => ({ ...row, data: fromJson(row.data) }));
    },
    last: () => boundary(database, 'desc'),
    oldest: () => boundary(database, 'asc'),
    onAdded: listening.onAdded,
    trim: (retention = {}) => trim(database, { ...usualRetention, ...retention }),
    close: listening.close,
  };
}

/** The last id that readers may see. Ask for it before the events themselves. */
export async function settledEvents(tables: Kysely<Tables>): Promise<number> {
  const found = await sql<{ id: number }>`${planOnce} select imago.settled_events() as id`.execute(tables);
  return found.rows[0]?.id ?? 0;
}

async function boundary(database: Database, order: 'asc' | 'desc'): Promise<number> {
  const row = await database.read(async (tables) =>
    tables
      .selectFrom('events')
      .select('id')
      .where('id', '<=', await settledEvents(tables))
      .orderBy('id', order)
      .limit(1)
      .executeTakeFirst(),
  );
  return row?.id ?? 0;
}

async function trim(database: Database, retention: EventRetention): Promise<number> {
  const last = await boundary(database, 'desc');
  const oldEnough = sql<string>`clock_timestamp() - ${retention.maxAgeMs} * interval '1 millisecond'`;
  const result = await database.writeOnce((tables) =>
    tables
      .deleteFrom('events')
      .where('id', '<=', last - retention.minCount)
      .where((row) => row.or([row('at', '<', oldEnough), row('id', '<=', last - retention.maxCount)]))
      .executeTakeFirst(),
  );
  return Number(result.numDeletedRows);
}
