// One active daemon for each database. The right to act is an advisory lock on a connection of its own, so it
// ends with the process; the epoch fences off a process that has not noticed yet that it ended.
import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from 'pg';
import { ImagoError } from '../../domain/error/imago-error.ts';
import type { Lease } from '../../ports/database/lease.ts';
import { cutAfter } from '../connection/connection-timeout.ts';
import { asStoreError, isConnectionLoss, sqlState } from '../connection/errors.ts';
import { fromJson, toJson } from '../connection/json.ts';
import { lockClass, locks } from '../connection/locks.ts';
import { bootstrap } from '../migrations/bootstrap.ts';
import { type Holder, isDead, thisHolder } from './holder.ts';

export interface LeaseOptions {
  /** Opens a connection for the lease alone: it is held as long as the lease, and sees nothing but its queries. */
  readonly connect: () => Promise<Client>;
  /** Called once when another daemon is active and this one begins to stand by. */
  readonly onWaiting?: () => void;
  /** Ends the waiting; it has no effect on a lease that was acquired. */
  readonly signal?: AbortSignal;
  readonly timing?: Partial<LeaseTiming>;
}

export interface LeaseTiming {
  /** How often the holder shows that it lives, and looks whether it still holds. */
  readonly beatMs: number;
  /** How long one beat may take before the holder counts itself out. */
  readonly beatDeadlineMs: number;
  /** How old the last beat of a holder that did not let go must be before the next one acts. */
  readonly graceMs: number;
  /** How often a daemon that stands by tries. */
  readonly tryMs: number;
  /** After how many tries without a beat a holder that still has the lock is considered frozen, and disconnected. */
  readonly frozenTries: number;
}

// A holder that is disconnected notices within beat + deadline, which is less than the grace.
const usualTiming: LeaseTiming = {
  beatMs: 1_000,
  beatDeadlineMs: 2_000,
  graceMs: 5_000,
  tryMs: 500,
  frozenTries: 30,
};

const tryDeadlineMs = 10_000;

/** Waits until this process is the active daemon, however long that takes. */
export async function acquireLease(options: LeaseOptions): Promise<Lease> {
  const timing = { ...usualTiming, ...options.timing };
  for (let waited = false; ; ) {
    options.signal?.throwIfAborted();
    let client: Client | undefined;
    try {
      client = await options.connect();
      await standBy(client, timing, options.signal, () => {
        if (!waited) options.onWaiting?.();
        waited = true;
      });
      return await takeOver(client, timing, options.signal);
    } catch (error) {
      await client?.end().catch(() => undefined);
      if (options.signal?.aborted === true) throw error;
      const said = asStoreError(error);
      // The first connection must work; later one that breaks is reopened, even if the lease just taken broke.
      if (said.code !== 'owner-stale' && !(waited && isConnectionLoss(said))) throw said;
      await sleep(timing.tryMs, undefined, signalOption(options.signal));
    }
  }
}

/** Returns when the lock is ours. */
async function standBy(
  client: Client,
  timing: LeaseTiming,
  signal: AbortSignal | undefined,
  onWaiting: () => void,
): Promise<void> {
  let lastBeat: string | undefined;
  let silent = 0;
  for (;;) {
    signal?.throwIfAborted();
    const { ours, beat } = await cutAfter(client, tryDeadlineMs, () => tryLock(client));
    if (ours) return;
    onWaiting();
    silent = beat === lastBeat ? silent + 1 : 0;
    lastBeat = beat;
    if (silent >= timing.frozenTries) {
      await terminateHolders(client, locks.lease);
      silent = 0;
    }
    await sleep(timing.tryMs, undefined, signalOption(signal));
  }
}

/** Takes the lock, or returns the last beat of its holder. */
async function tryLock(client: Client): Promise<{ readonly ours: boolean; readonly beat?: string }> {
  const tried = await client.query<{ held: boolean }>('select pg_try_advisory_lock($1, $2) as held', [
    lockClass,
    locks.lease,
  ]);
  if (tried.rows[0]?.held === true) return { ours: true };
  const there = await client.query<{ there: boolean }>(
    "select to_regclass('imago.lease') is not null as there",
  );
  if (there.rows[0]?.there !== true) return { ours: false };
  const found = await client.query<{ beat: string }>(
    "select epoch || ' ' || beat_at as beat from imago.lease",
  );
  return { ours: false, ...found.rows[0] };
}

/** The lock is ours: fence the last holder off, then wait until it must have noticed. */
async function takeOver(
  client: Client,
  timing: LeaseTiming,
  signal: AbortSignal | undefined,
): Promise<Lease> {
  await inTransaction(client, () => bootstrap(client));
  const former = await readFormer(client);
  const holder = thisHolder();
  const epoch = await raiseEpoch(client, holder, signal);
  // From here on only beats are written, and losing one in a crash of the database is harmless.
  await client.query('set synchronous_commit = off');
  const lease = holdLease(client, epoch, holder, timing);
  try {
    const wait = former.released || endedHere.has(former.holder.id) ? 0 : timing.graceMs - former.beatAgeMs;
    // The age comes from a clock, which may have jumped: no wait is longer than the grace.
    const end = performance.now() + Math.min(wait, timing.graceMs);
    // One that was killed has lost its connection before it is gone: it is looked at again.
    while (performance.now() < end && !isDead(former.holder)) {
      await sleep(Math.min(timing.tryMs, end - performance.now()), undefined, signalOption(signal));
    }
    lease.signal.throwIfAborted();
    return lease;
  } catch (error) {
    await lease.release();
    throw error;
  }
}

interface Former {
  readonly holder: Holder;
  readonly released: boolean;
  readonly beatAgeMs: number;
}

async function readFormer(client: Client): Promise<Former> {
  const found = await client.query<{ holder: string; released: boolean; age: number }>(
    `select holder, released, (extract(epoch from clock_timestamp() - beat_at) * 1000)::float8 as age
     from imago.lease`,
  );
  const row = found.rows[0];
  if (row === undefined) throw new ImagoError('internal', 'The table of the lease is empty.');
  return { holder: fromJson<Holder>(row.holder), released: row.released, beatAgeMs: row.age };
}

/** Every writer shares the fence: when it is ours alone, no write under an older epoch is in progress. */
async function raiseEpoch(client: Client, holder: Holder, signal: AbortSignal | undefined): Promise<number> {
  for (;;) {
    signal?.throwIfAborted();
    try {
      return await inTransaction(client, async () => {
        await client.query("set local lock_timeout = '2s'");
        await client.query('set local synchronous_commit = on');
        await client.query('select pg_advisory_xact_lock($1, $2)', [lockClass, locks.fence]);
        const raised = await client.query<{ epoch: number }>(
          `update imago.lease set epoch = epoch + 1, holder = $1, released = false, beat_at = clock_timestamp()
           returning epoch`,
          [toJson({ ...holder })],
        );
        const epoch = raised.rows[0]?.epoch;
        if (epoch === undefined) throw new ImagoError('internal', 'The table of the lease is empty.');
        return epoch;
      });
    } catch (error) {
      if (sqlState(error) !== '55P03') throw error;
      await terminateHolders(client, locks.fence);
    }
  }
}

/** Ends the sessions of the holders of our locks: their transactions are undone. */
async function terminateHolders(client: Client, lock: number): Promise<void> {
  await client.query(
    `select pg_terminate_backend(pid) from pg_locks
     where locktype = 'advisory' and classid = $1 and objid = $2 and objsubid = 2 and granted
       and pid <> pg_backend_pid()
       and database = (select oid from pg_database where datname = current_database())`,
    [lockClass, lock],
  );
}

async function inTransaction<T>(client: Client, work: () => Promise<T>): Promise<T> {
  await client.query('begin');
  try {
    const result = await work();
    await client.query('commit');
    return result;
  } catch (error) {
    await client.query('rollback').catch(() => undefined);
    throw error;
  }
}

function signalOption(signal: AbortSignal | undefined): { signal?: AbortSignal } {
  return signal === undefined ? {} : { signal };
}

/** Leases of this process that ended: those that acted under them have been notified. */
const endedHere = new Set<string>();

/** Beats until it is lost or let go. */
function holdLease(client: Client, epoch: number, holder: Holder, timing: LeaseTiming): Lease {
  const held = new AbortController();
  let releasing: Promise<void> | undefined;
  let timer: NodeJS.Timeout | undefined;

  function end(why: string, cause?: unknown): void {
    clearTimeout(timer);
    held.abort(new ImagoError('owner-stale', why, { cause }));
    endedHere.add(holder.id);
  }

  function lose(why: string, cause?: unknown): void {
    if (held.signal.aborted) return;
    end(`This daemon is no longer the active one: ${why}.`, cause);
    client.end().catch(() => undefined);
  }

  async function beat(): Promise<void> {
    let answered = false;
    // A process that was held up itself finds the answer waiting: it is read before the verdict.
    const deadline = setTimeout(() => {
      setImmediate(() => {
        if (!answered) lose('the database does not answer');
      });
    }, timing.beatDeadlineMs);
    try {
      const beaten = await client.query(
        'update imago.lease set beat_at = clock_timestamp() where epoch = $1',
        [epoch],
      );
      if (beaten.rowCount !== 1) lose('another daemon took over');
    } catch (error) {
      lose('its connection to the database broke', error);
    } finally {
      answered = true;
      clearTimeout(deadline);
    }
    if (!held.signal.aborted && releasing === undefined) timer = setTimeout(beat, timing.beatMs);
  }

  async function letGo(): Promise<void> {
    if (held.signal.aborted) return;
    end('This daemon has given its lease up.');
    const said = client.query('update imago.lease set released = true where epoch = $1', [epoch]);
    await Promise.race([said, sleep(timing.beatDeadlineMs, undefined, { ref: false })]).catch(
      () => undefined,
    );
    await client.end().catch(() => undefined);
  }

  client.on('error', (error) => lose('its connection to the database broke', error));
  client.on('end', () => lose('its connection to the database ended'));
  timer = setTimeout(beat, timing.beatMs);
  return {
    epoch,
    signal: held.signal,
    release() {
      releasing ??= letGo();
      return releasing;
    },
  };
}
