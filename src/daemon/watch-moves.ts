// Hears of channel moves, made by any process, so that pools which follow a channel do not wait for the next round.
import { setTimeout as sleep } from 'node:timers/promises';
import { sql } from 'kysely';
import type { Store } from '../database/open-database.ts';

/** Events come in bursts: one look is enough for all of a burst. */
const gatherMs = 200;

/** Calls back when a channel has moved since the last look, until the signal is aborted. */
export function watchMoves(
  { events, database }: Pick<Store, 'events' | 'database'>,
  signal: AbortSignal,
  onMove: () => void,
): void {
  let last: number | undefined;
  let looking = false;
  let again = false;

  async function look(): Promise<void> {
    const found = await database.read((tables) =>
      sql<{ id: number | null }>`select max(id) as id from imago.channel_moves`.execute(tables),
    );
    const newest = Number(found.rows[0]?.id ?? 0);
    const moved = last !== undefined && newest > last;
    last = newest;
    if (moved) onMove();
  }

  async function looks(): Promise<void> {
    if (looking) {
      again = true;
      return;
    }
    looking = true;
    do {
      again = false;
      // A look that fails is made up for by the next event, or by the next round of whoever listens.
      await look().catch(() => undefined);
      await sleep(gatherMs, undefined, { signal, ref: false }).catch(() => undefined);
    } while (again && !signal.aborted);
    looking = false;
  }

  const stop = events.onAdded(() => void looks());
  signal.addEventListener('abort', stop, { once: true });
  void looks();
}
