// Watches channel moves by any process, so that pools that follow a channel do not wait for the next cycle.
import { setTimeout as sleep } from 'node:timers/promises';
import { sql } from 'kysely';
import type { Store } from '../database/open-database.ts';

/** Events come in bursts: one query is enough for a burst. */
const gatherMs = 200;

/** Calls back when a channel has moved since the last query, until the signal aborts. */
export function watchMoves(
  { events, database }: Pick<Store, 'events' | 'database'>,
  signal: AbortSignal,
  onMove: () => void,
): void {
  let last: number | undefined;
  let querying = false;
  let again = false;

  async function query(): Promise<void> {
    const found = await database.read((tables) =>
      sql<{ id: number | null }>`select max(id) as id from imago.channel_moves`.execute(tables),
    );
    const newest = Number(found.rows[0]?.id ?? 0);
    const moved = last !== undefined && newest > last;
    last = newest;
    if (moved) onMove();
  }

  async function queryBursts(): Promise<void> {
    if (querying) {
      again = true;
      return;
    }
    querying = true;
    do {
      again = false;
      // After a failure, the next event queries again.
      await query().catch(() => undefined);
      await sleep(gatherMs, undefined, { signal, ref: false }).catch(() => undefined);
    } while (again && !signal.aborted);
    querying = false;
  }

  const stop = events.onAdded(() => void queryBursts());
  signal.addEventListener('abort', stop, { once: true });
  void queryBursts();
}
