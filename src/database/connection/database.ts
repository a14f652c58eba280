// The way to the tables: typed queries over a small pool whose connections carry this daemon's epoch.
import { setTimeout as sleep } from 'node:timers/promises';
import { Kysely, PostgresDialect, sql, type Transaction } from 'kysely';
import { ImagoError } from '../../domain/error/imago-error.ts';
import type { ImagoEvent } from '../../ports/database/events.ts';
import { isConnectionLoss, sqlState } from './errors.ts';
import { toJson } from './json.ts';
import { openPool } from './pool.ts';
import type { Tables } from './tables.ts';

export type NewEvent = Omit<ImagoEvent, 'id' | 'at'>;

export interface WriteOptions {
  /** As in `JournalWrite`. */
  readonly durable?: boolean;
}

/** The tables within a transaction, and the way to tell watchers of it. */
export interface Change {
  readonly tables: Transaction<Tables>;
  /** Recorded at the end of the transaction, in the order of the calls. */
  emit(event: NewEvent): void;
}

export interface Database {
  readonly url: string;
  readonly epoch: number;
  /** Runs queries that only read. They are made again when the connection breaks. */
  read<T>(query: (tables: Kysely<Tables>) => Promise<T>): Promise<T>;
  /**
   * Runs one transaction. It is made again when the connection breaks, even if it is unknown whether the
   * commit arrived, so a change must converge when it is repeated. `owner-stale` when this daemon is no longer
   * the active one.
   */
  write<T>(change: (change: Change) => Promise<T>, options?: WriteOptions): Promise<T>;
  /** As `write`, for a single statement: one round trip. If it adds events, call `announce` after it. */
  writeOnce<T>(statement: (tables: Kysely<Tables>) => Promise<T>): Promise<T>;
  /** Tells the listeners of all processes that events were added. */
  announce(): void;
  /** Closes the connections. A second call does nothing. */
  close(): Promise<void>;
}

export interface DatabaseOptions {
  readonly url: string;
  /** Of the lease; every write carries it. */
  readonly epoch: number;
  /** The signal of the lease: once aborted, nothing is written. */
  readonly signal?: AbortSignal;
  readonly poolSize?: number;
  /** How long calls go on trying while the database is away. */
  readonly patienceMs?: number;
}

const usualPoolSize = 6;
const usualPatienceMs = 15_000;
const longestPauseMs = 1_000;
/** Events come in bursts: listeners are notified once of those that are added within this time. */
const gatherMs = 20;

export function openDatabase(options: DatabaseOptions): Database {
  const { url, epoch, signal, patienceMs = usualPatienceMs } = options;
  const pool = openPool({
    url,
    settings: { 'imago.epoch': String(epoch) },
    size: options.poolSize ?? usualPoolSize,
  });
  const root = new Kysely<Tables>({ dialect: new PostgresDialect({ pool }) });
  const tables = root.withSchema('imago');
  let closing: Promise<void> | undefined;
  let isNew = false;
  let announcing: Promise<void> | undefined;

  function announce(): void {
    isNew = true;
    announcing ??= notify().finally(() => {
      announcing = undefined;
    });
  }

  /**
   * In a transaction of its own, because PostgreSQL lets one transaction with a notice commit at a time. Listeners look
   * on their own periodically, so a notice that is lost delays them only.
   */
  async function notify(): Promise<void> {
    while (isNew) {
      isNew = false;
      await sql`select set_config('synchronous_commit', 'off', true), pg_notify('imago_events', '')`
        .execute(tables)
        .catch(() => undefined);
      await sleep(gatherMs);
    }
  }

  function requireActive(): void {
    if (signal?.aborted !== true) return;
    throw new ImagoError('owner-stale', 'This daemon has lost its lease and no longer writes anything.', {
      cause: signal.reason,
    });
  }

  async function patiently<T>(work: () => Promise<T>): Promise<T> {
    const end = performance.now() + patienceMs;
    for (let pause = 20; ; pause = Math.min(pause * 2, longestPauseMs)) {
      try {
        return await work();
      } catch (error) {
        if (closing !== undefined || !mayRepeat(error) || performance.now() + pause > end) throw error;
        await sleep(pause);
      }
    }
  }

  return {
    url,
    epoch,
    read: (query) => patiently(() => query(tables)),
    write: (change, { durable = true } = {}) =>
      patiently(async () => {
        requireActive();
        const events: NewEvent[] = [];
        try {
          return await tables.transaction().execute(async (transaction) => {
            if (!durable) await sql`set local synchronous_commit = off`.execute(transaction);
            const result = await change({ tables: transaction, emit: (event) => events.push(event) });
            await addEvents(transaction, events);
            return result;
          });
        } finally {
          // Also after a failure: others may have waited for this transaction to end.
          if (events.length > 0) announce();
        }
      }),
    writeOnce: (statement) =>
      patiently(() => {
        requireActive();
        return statement(tables);
      }),
    announce,
    close() {
      closing ??= (announcing ?? Promise.resolve()).then(() => root.destroy());
      return closing;
    },
  };
}

/** Another connection may do better, or the other side of a deadlock is through by then. */
function mayRepeat(error: unknown): boolean {
  return isConnectionLoss(error) || ['40001', '40P01'].includes(sqlState(error) ?? '');
}

async function addEvents(transaction: Transaction<Tables>, events: readonly NewEvent[]): Promise<void> {
  if (events.length === 0) return;
  const types = events.map(({ type }) => type);
  const subjects = events.map(({ subject }) => subject);
  const data = events.map((event) => toJson(event.data));
  await sql`
    select imago.add_events(${types}::text[], ${subjects}::text[], ${data}::text[]::json[])`.execute(
    transaction,
  );
}
