// Calls the body of a step: a throw is not a result, so the body is called again, with growing pauses, until it returns
// or the run is stopped.
import type { Clock } from '../../ports/clock.ts';

export interface BodyOptions {
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** Called for each throw, for the daemon's log. */
  onThrow?(error: unknown): void;
  /** Called if the run is stopped before the body returns. */
  onStopped?(): void;
}

const firstPauseMs = 500;
const maxPauseMs = 30_000;

/** A stopped run does not continue, neither with a result nor with an error that could be recorded. */
export function never(): Promise<never> {
  return new Promise(() => undefined);
}

export async function runBody<T>(body: () => Promise<T>, options: BodyOptions): Promise<T> {
  const { clock, signal } = options;
  for (let pause = firstPauseMs; !signal.aborted; pause = Math.min(pause * 2, maxPauseMs)) {
    try {
      return await body();
    } catch (error) {
      if (signal.aborted) break;
      options.onThrow?.(error);
    }
    await clock.sleep(pause, signal).catch(() => undefined);
  }
  options.onStopped?.();
  return never();
}

/** Waits for `work`, or indefinitely once the run is stopped. */
export function unlessStopped<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  if (signal.aborted) return never();
  return new Promise((resolve, reject) => {
    work.then(
      (value) => !signal.aborted && resolve(value),
      (error) => !signal.aborted && reject(error),
    );
  });
}
