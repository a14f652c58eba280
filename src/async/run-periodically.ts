// Work that is repeated while the daemon is active: never twice concurrently, and soon after the start.
import { setTimeout as sleep } from 'node:timers/promises';

const FIRST_AFTER_MS = 5000;

export interface Rounds {
  /** The next round begins now, or when the present one has ended. Concurrent calls count as one. */
  soon(): void;
}

/** Each round begins `ms` after the previous one ended. What a round throws is for `onError`; the next one comes. */
export function every(
  ms: number,
  signal: AbortSignal,
  work: () => Promise<void>,
  onError: (error: unknown) => void,
): Rounds {
  let asked = false;
  let wake: () => void = () => undefined;

  async function rest(pause: number): Promise<void> {
    const woken = new AbortController();
    wake = () => woken.abort();
    if (asked) return;
    await sleep(pause, undefined, { signal: AbortSignal.any([signal, woken.signal]), ref: false }).catch(
      () => undefined,
    );
  }

  async function rounds(): Promise<void> {
    for (let pause = Math.min(FIRST_AFTER_MS, ms); ; pause = ms) {
      await rest(pause);
      if (signal.aborted) return;
      asked = false;
      await work().catch((error) => {
        if (!signal.aborted) onError(error);
      });
    }
  }
  void rounds();
  return {
    soon() {
      asked = true;
      wake();
    },
  };
}
