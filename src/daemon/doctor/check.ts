// One thing that `imago doctor` looks at. Providers bring checks of their own in the same form.

/** `missing`: something will not work. `warn`: it works, but worse, or could not be found out. */
export type CheckState = 'ok' | 'warn' | 'missing';

export interface CheckResult {
  readonly state: CheckState;
  /** One sentence: what was found. */
  readonly detail: string;
  /** The command that gets it, or what else to do; present unless `ok`. */
  readonly fix?: string;
}

export interface DoctorCheck {
  /** Stable, for scripts: `postgres.programs`, `machines.accelerator`. */
  readonly id: string;
  readonly group: string;
  readonly title: string;
  /** Changes nothing on the machine. What it starts must end by the signal. */
  run(signal: AbortSignal): Promise<CheckResult> | CheckResult;
}
