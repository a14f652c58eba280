// One measured thing, as a line of JSON that test/bench/run.ts gathers into docs/performance.md.

export interface BenchRow {
  readonly what: string;
  readonly value: string;
  /** The peer or floor measured in the same run. */
  readonly against?: string;
  readonly ratio?: number;
  readonly bar: string;
  readonly met: boolean;
}

export function printRow(row: BenchRow): void {
  console.log(JSON.stringify({ row }));
}
