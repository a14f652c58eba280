// Work that is done again and again while the daemon is active: never twice at once, and soon after the start.
import { setTimeout as sleep } from 'node:timers/promises';

const FIRST_AFTER_MS = 5000;

/** Each round begins `ms` after the one before ended. What a round throws is for `onError`; the next one comes. */
export function every(
  ms: number,
  signal: AbortSignal,
  work: () => Promise<void>,
  onError: (error: unknown) => void,
): void {
  async function rounds(): Promise<void> {
    for (let pause = Math.min(FIRST_AFTER_MS, ms); ; pause = ms) {
      await sleep(pause, undefined, { signal, ref: false });
      await work().catch((error) => {
        if (!signal.aborted) onError(error);
      });
    }
  }
  rounds().catch(() => undefined);
}
