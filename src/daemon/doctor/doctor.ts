// Runs the checks of `imago doctor`: one file for each group, and each result with the command that fixes it.
import { type ProcessEnvironment, stateFolder } from '../../launcher/paths.ts';
import { azureChecks } from './azure.ts';
import { buildChecks } from './build.ts';
import { type CheckResult, type DoctorCheck, type DoctorReport, warn } from './check.ts';
import { databaseChecks } from './database.ts';
import { hostChecks } from './host.ts';
import { machineChecks } from './machines.ts';

const defaultTimeoutMs = 8000;

export function defaultChecks(processEnv: ProcessEnvironment): readonly DoctorCheck[] {
  const home = stateFolder(processEnv);
  return [
    ...hostChecks(home, processEnv),
    ...databaseChecks(home, processEnv),
    ...machineChecks(home, processEnv),
    ...buildChecks(processEnv),
    ...azureChecks(home, processEnv),
  ];
}

/** Runs all checks concurrently. One that throws or hangs is a warning, and does not stop the others. */
export async function runDoctor(
  checks: readonly DoctorCheck[],
  timeoutMs = defaultTimeoutMs,
): Promise<DoctorReport> {
  const findings = await Promise.all(checks.map((check) => runCheck(check, timeoutMs)));
  return { ok: findings.every(({ state }) => state !== 'missing'), findings };
}

async function runCheck(check: DoctorCheck, timeoutMs: number) {
  const { id, group, title } = check;
  const abort = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<CheckResult>((resolve) => {
    timer = setTimeout(() => {
      abort.abort();
      resolve(unknown(`The check did not finish within ${timeoutMs / 1000} s.`));
    }, timeoutMs);
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
  return warn(detail, 'Run `imago doctor` again. If this persists, check it manually.');
}
