// Which daemon acts: one at a time for each database.

export interface Lease {
  /** Grows with every daemon that becomes active; writes carry it and late ones are refused. */
  readonly epoch: number;
  /** Aborted the moment this daemon may no longer act. */
  readonly signal: AbortSignal;
  /** Gives the lease up. A second call does nothing. */
  release(): Promise<void>;
}
