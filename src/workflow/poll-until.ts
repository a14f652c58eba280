// Waits for a provider: start and wait are separate, and the read decides (D4).
import { ImagoError } from '../domain/error/imago-error.ts';
import type { Clock } from '../ports/clock.ts';

export interface SettleOptions {
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** How long the provider can take, by its own clock. */
  readonly deadlineMs: number;
  /** The awaited work, for the error. */
  readonly what: string;
}

const firstPauseMs = 500;
const maxPauseMs = 15_000;

/**
 * Reads until `read` returns a value; `undefined` means not yet. Pauses grow up to 15 s. Only a read that started after the
 * deadline gives up, so that a host that slept through it reads once.
 */
export async function settle<T>(read: () => Promise<T | undefined>, options: SettleOptions): Promise<T> {
  const { clock, signal } = options;
  const end = clock.now() + options.deadlineMs;
  let pause = firstPauseMs;
  for (;;) {
    signal.throwIfAborted();
    const last = clock.now() >= end;
    const value = await read();
    if (value !== undefined) return value;
    if (last) {
      throw new ImagoError(
        'provider-timeout',
        `${options.what} did not settle within ${options.deadlineMs / 1000} s.`,
      );
    }
    await clock.sleep(pause, signal);
    pause = Math.min(pause * 1.5, maxPauseMs);
  }
}

/** Reads until there is nothing left. */
export async function settleGone(read: () => Promise<unknown>, options: SettleOptions): Promise<void> {
  await settle(async () => ((await read()) === undefined ? true : undefined), options);
}
