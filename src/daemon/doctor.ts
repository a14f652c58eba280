// What this machine has and lacks, for `imago doctor`: a registry of checks, one file for each group, each
// answer with the command that gets what is missing.

export type CheckState = 'ok' | 'warn' | 'missing';

export interface DoctorFinding {
  /** Stable, for scripts: `postgres.binaries`, `machines.kvm`. */
  readonly id: string;
  readonly group: string;
  readonly title: string;
  readonly state: CheckState;
  /** One sentence: what was found. */
  readonly detail: string;
  /** The command that gets it, or what else to do; present unless `ok`. */
  readonly fix?: string;
}

export interface DoctorReport {
  /** Whether nothing is `missing`. */
  readonly ok: boolean;
  readonly findings: readonly DoctorFinding[];
}
