// What this machine has and lacks, for `imago doctor`: a registry of checks, one file for each group, each
// answer with the command that gets what is missing.
import { type ProcessEnvironment, stateFolder } from '../../launcher/paths.ts';
import { buildChecks } from './build.ts';
import type { CheckResult, DoctorCheck } from './check.ts';
import { databaseChecks } from './database.ts';
import { hostChecks } from './host.ts';
import { machineChecks } from './machines.ts';

export interface DoctorFinding extends CheckResult {
  readonly id: string;
  readonly group: string;
  readonly title: string;
}

export interface DoctorReport {
  /** Whether nothing is `missing`. */
  readonly ok: boolean;
  readonly findings: readonly DoctorFinding[];
}

const CHECK_PATIENCE_MS = 8000;

/** The checks of everything that Imago itself brings; providers add theirs. */
export function defaultChecks(processEnv: ProcessEnvironment): readonly DoctorCheck[] {
  const home = stateFolder(processEnv);
  return [
    ...hostChecks(home, processEnv),
    ...databaseChecks(home, processEnv),
    ...machineChecks(home, processEnv),
    ...buildChecks(processEnv),
  ];
}

/** Runs all checks at once, in the order given. One that throws or hangs is a warning, and stops no other. */
export async function runDoctor(
  checks: readonly DoctorCheck[],
  patienceMs = CHECK_PATIENCE_MS,
): Promise<DoctorReport> {
  const findings = await Promise.all(checks.map((check) => runCheck(check, patienceMs)));
  return { ok: findings.every(({ state }) => state !== 'missing'), findings };
}

async function runCheck(check: DoctorCheck, patienceMs: number): Promise<DoctorFinding> {
  const { id, group, title } = check;
  const abort = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<CheckResult>((resolve) => {
    timer = setTimeout(() => {
      abort.abort();
      resolve(unknown(`The check did not end within ${patienceMs / 1000} s.`));
    }, patienceMs);
  });
  try {
    const result = await Promise.race([(async () => check.run(abort.signal))(), late]);
    return { id, group, title, ...result };
  } catch (error) {
    return { id, group, title, ...unknown(`The check failed: ${(error as Error).message}`) };
  } finally {
    clearTimeout(timer);
  }
}

function unknown(detail: string): CheckResult {
  return { state: 'warn', detail, fix: 'Run `imago doctor` again; when it stays so, look at this by hand.' };
}
