// Time, passed in: rules and operations never read the host's clock themselves.

export interface Clock {
  /** Milliseconds since 1970, in the world that the caller lives in (virtual in tests and simulations). */
  now(): number;
  /** Resolves after `ms` of this clock's time; rejects with the signal's reason when aborted. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}
