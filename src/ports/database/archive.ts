// Carries everything that the daemon knows to another database, also of the next major version.

/** What a backup held. */
export interface RestoreReport {
  readonly madeAt: string;
  /** The version of Imago that made it. */
  readonly madeBy: string;
  readonly tables: number;
  readonly rows: number;
}

export interface Archive {
  /** Everything as of one moment. Read it to its end, or abort: it holds a transaction open. */
  backup(signal: AbortSignal): AsyncIterable<Uint8Array>;
  /**
   * Fills the database with what the backup holds, in one transaction; with `dryRun` it reads and checks the
   * whole backup and writes nothing. A database that holds images or operations (`restore-not-empty`) and a
   * backup that is cut short, damaged or too new are refused, and nothing has changed.
   */
  restore(
    source: AsyncIterable<Uint8Array>,
    options: { readonly dryRun: boolean; readonly signal: AbortSignal },
  ): Promise<RestoreReport>;
}
