// One measured thing, as a line of JSON that test/bench/run.ts gathers into docs/performance.md.

export interface BenchRow {
  readonly what: string;
  readonly value: string;
  /** The peer or floor measured in the same run. */
  readonly against?: string;
  readonly ratio?: number;
  readonly bar: string;
  /** False too for what was not measured. */
  readonly met: boolean;
  /** Why it was not measured. */
  readonly skipped?: string;
}

export function printRow(row: BenchRow): void {
  console.log(JSON.stringify({ row }));
}

/** A bar that this run says nothing about: it stands in the table, and does not count as met. */
export function printSkipped(what: string, bar: string, skipped: string): void {
  printRow({ what, value: '', bar, met: false, skipped });
}

/** One line, for a cell of the table. */
export function reasonOf(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  return (text.split('\n')[0] ?? '').slice(0, 200).replaceAll('|', '/');
}
