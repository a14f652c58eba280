// How probes of rollouts reach what they check.
export interface Prober {
  /** The HTTP status of an address. Throws if nothing answers within the time of the signal. */
  status(url: string, signal: AbortSignal): Promise<number>;
  /** The text at an address. Throws if the status is not 200. */
  read(url: string, signal: AbortSignal): Promise<string>;
  /** Whether the daemon has a program of this name for probes. */
  has(program: string): Promise<boolean>;
  /** Runs it. Throws if it cannot be started, or does not end within the time of the signal. */
  run(
    program: string,
    args: readonly string[],
    signal: AbortSignal,
  ): Promise<{ readonly exitCode: number; readonly firstLine: string }>;
}
