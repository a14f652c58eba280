// Determines how the process of a machine ended, from the traces that it left.
import type { MachineEnd } from './machine-host.ts';
import type { MachineFiles } from './paths.ts';
import { lastError, readExitCode } from './process.ts';

const TRACE_MS = 1000;

export async function describeEnd(
  files: MachineFiles,
  asked: boolean,
  computerRestarted = false,
): Promise<MachineEnd> {
  const at = new Date().toISOString();
  let code = await readExitCode(files.exit);
  const read = async () => {
    code = await readExitCode(files.exit);
  };
  if (!computerRestarted) await pollUntil(() => code !== undefined, read, TRACE_MS);
  if (asked) return { kind: 'stopped', at, message: 'The machine was stopped.' };
  if (code === 0) return { kind: 'powered-off', at, message: 'The machine powered itself off.' };
  if (code === undefined && computerRestarted)
    return { kind: 'computer-restarted', at, message: 'The machine stopped when the host restarted.' };
  if (code === undefined)
    return { kind: 'crashed', at, message: 'The machine process exited without a trace.' };
  if (code === 137)
    return {
      kind: 'crashed',
      at,
      message: 'The machine process was killed by a user or for lack of memory.',
    };
  const said = await lastError(files);
  const detail = said === undefined ? '.' : `: ${said}`;
  return { kind: 'crashed', at, message: `QEMU exited with code ${code}${detail}` };
}

/** Calls `check` until the condition holds or the time is over. Returns whether the condition holds. */
export async function pollUntil(
  holds: () => boolean,
  check: () => Promise<void> | undefined,
  timeoutMs: number,
): Promise<boolean> {
  const deadline = performance.now() + timeoutMs;
  while (!holds()) {
    if (performance.now() >= deadline) return false;
    await check();
    if (!holds()) await new Promise((resolve) => setTimeout(resolve, 25));
  }
  return true;
}
