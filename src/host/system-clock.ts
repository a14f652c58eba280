// The host's clock. Sleeping uses a monotonic timer, so that a clock that jumps makes no sleep longer.
import type { Clock } from '../ports/clock.ts';

/** The longest that a timer of Node's can wait, about 24 days. */
const longestTimerMs = 2 ** 31 - 1;

export const systemClock: Clock = {
  now: () => Date.now(),
  async sleep(ms, signal) {
    for (let left = ms; left > 0; left -= longestTimerMs) {
      await wait(Math.min(left, longestTimerMs), signal);
    }
    signal?.throwIfAborted();
  },
};

function wait(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason);
    const timer = setTimeout(wake, ms);
    function wake(): void {
      signal?.removeEventListener('abort', abort);
      resolve();
    }
    function abort(): void {
      clearTimeout(timer);
      reject(signal?.reason);
    }
    signal?.addEventListener('abort', abort, { once: true });
  });
}
