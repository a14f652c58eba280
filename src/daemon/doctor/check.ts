// Defines a check of `imago doctor`, and its results.
import type { ResponseOf } from '../../api/contract/types.ts';

export type DoctorReport = ResponseOf<'doctor'>;
type DoctorFinding = DoctorReport['findings'][number];

/** `missing`: something does not work. `warn`: it works, but worse, or the check could not find out. */
export type CheckResult = Pick<DoctorFinding, 'state' | 'detail' | 'fix'>;

export interface DoctorCheck extends Pick<DoctorFinding, 'id' | 'group' | 'title'> {
  /** Changes nothing on the host. Processes that it starts must stop when the signal aborts. */
  run(signal: AbortSignal): Promise<CheckResult> | CheckResult;
}

/** `detail` is one sentence with what was found. */
export function ok(detail: string): CheckResult {
  return { state: 'ok', detail };
}

/** `fix` is a command, or describes what else to do. */
export function warn(detail: string, fix: string): CheckResult {
  return { state: 'warn', detail, fix };
}

export function missing(detail: string, fix: string): CheckResult {
  return { state: 'missing', detail, fix };
}
