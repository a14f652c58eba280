// How a machine's process ended, as far as its traces tell.
import type { MachineEnd } from './machine-host.ts';
import type { MachineFiles } from './paths.ts';
import { lastWords, readExitCode } from './process.ts';

const TRACE_MS = 1000;

export async function describeEnd(
  files: MachineFiles,
  asked: boolean,
  computerRestarted = false,
): Promise<MachineEnd> {
  const at = new Date().toISOString();
  let code = await readExitCode(files.exit);
  if (!computerRestarted && code === undefined)
    await waitForEnd(
      () => code !== undefined,
      async () => {
        code = await readExitCode(files.exit);
      },
      TRACE_MS,
    );
  if (asked) return { kind: 'stopped', at, message: 'it was stopped' };
  if (code === 0) return { kind: 'powered-off', at, message: 'it powered itself off' };
  if (code === undefined && computerRestarted)
    return { kind: 'computer-restarted', at, message: 'it ended with the computer' };
  if (code === undefined) return { kind: 'crashed', at, message: 'its process ended without a trace' };
  if (code === 137)
    return { kind: 'crashed', at, message: 'its process was killed, by a person or for lack of memory' };
  const words = await lastWords(files);
  const said = words === undefined ? '' : `: ${words}`;
  return { kind: 'crashed', at, message: `QEMU ended with code ${code}${said}` };
}

/** Looks again and again until it is so, or the time is over; says whether it is so. */
export async function waitForEnd(
  isSo: () => boolean,
  look: () => Promise<void> | undefined,
  timeoutMs: number,
): Promise<boolean> {
  const deadline = performance.now() + timeoutMs;
  while (!isSo()) {
    if (performance.now() >= deadline) return false;
    await look();
    if (!isSo()) await new Promise((resolve) => setTimeout(resolve, 25));
  }
  return true;
}
