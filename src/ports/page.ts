// Long lists come in pages, everywhere.

export interface PageQuery {
  /** Where the previous page ended; absent for the first one. Opaque to the caller. */
  readonly cursor?: string;
  readonly limit: number;
}

export interface Page<T> {
  readonly items: readonly T[];
  /** Absent on the last page. */
  readonly next?: string;
}
