// Deletes operations that ended long ago. What they made has records of its own, which name them still; a
// withdrawal that is planned for later reads what was asked for from its operation, which therefore stays.
import { type RawBuilder, sql } from 'kysely';
import type { Database } from '../connection/database.ts';

export interface OperationRetention {
  /** How long ended operations are kept, with their steps. */
  readonly recordDays: number;
  /** How long the logs of ended operations are kept. */
  readonly logDays: number;
  /** How many of the newest operations are kept regardless of the clock: one that jumps ahead must not empty the list. */
  readonly minCount: number;
}

export interface Forgotten {
  readonly operations: number;
  readonly logLines: number;
}

export const usualOperationRetention: OperationRetention = { recordDays: 365, logDays: 30, minCount: 1_000 };

/** Of operations, in one transaction: small enough not to hold up those that run. */
const batchSize = 200;

/** Deletes what is beyond the retention. A second call finds nothing left. */
export async function tidyOperations(
  database: Database,
  retention: OperationRetention = usualOperationRetention,
): Promise<Forgotten> {
  const logLines = await inBatches((after) => forgetLogs(database, retention, after));
  const operations = await inBatches((after) => forgetRecords(database, retention, after));
  return { operations, logLines };
}

interface Batch {
  /** The place of the last operation that was looked at; `null` when there was none. */
  readonly last: number | null;
  readonly deleted: number;
}

async function inBatches(next: (after: number) => Promise<Batch | undefined>): Promise<number> {
  let all = 0;
  for (let after: number | null = 0; after !== null; ) {
    const batch = await next(after);
    all += batch?.deleted ?? 0;
    after = batch?.last ?? null;
  }
  return all;
}

async function forgetLogs(
  database: Database,
  { logDays, minCount }: OperationRetention,
  after: number,
): Promise<Batch | undefined> {
  const found = await database.writeOnce((tables) =>
    sql<Batch>`
      with old as (
        select id, seq from imago.operations o
        where seq > ${after} and ${isOld(logDays, minCount)}
          and exists (select from imago.operation_logs l where l.operation = o.id)
        order by seq limit ${batchSize}),
      gone as (delete from imago.operation_logs where operation in (select id from old) returning 1)
      select (select max(seq) from old) as last, (select count(*) from gone) as deleted`.execute(tables),
  );
  return found.rows[0];
}

/** A parent goes with all its children, and only when all of them are old. */
async function forgetRecords(
  database: Database,
  { recordDays, minCount }: OperationRetention,
  after: number,
): Promise<Batch | undefined> {
  const found = await database.writeOnce((tables) =>
    sql<Batch>`
      with recursive roots as (
        select id, seq from imago.operations o
        where seq > ${after} and ${isOld(recordDays, minCount)}
          and not exists (select from imago.operations parent where parent.id = o.parent)
        order by seq limit ${batchSize}),
      family (root, id) as (
        select id, id from roots
        union
        select family.root, child.id from family join imago.operations child on child.parent = family.id),
      needed as (
        select root from family join imago.operations o using (id)
        where (${isOld(recordDays, minCount)}) is not true
        union
        select root from family join imago.withdrawals w on w.operation = family.id
        where w.applied_at is null and w.lifted_at is null),
      gone as (
        delete from imago.operations
        where id in (select id from family where root not in (select root from needed)) returning 1)
      select (select max(seq) from roots) as last, (select count(*) from gone) as deleted`.execute(tables),
  );
  return found.rows[0];
}

function isOld(days: number, minCount: number): RawBuilder<unknown> {
  return sql`o.ended_at < clock_timestamp() - ${days}::integer * interval '1 day'
    and o.seq <= (select max(seq) from imago.operations) - ${minCount}::bigint`;
}
