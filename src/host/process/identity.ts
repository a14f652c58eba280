// Which process a recorded pid meant. A pid alone is not enough: after a crash another process may have it,
// and that one must be neither trusted nor killed.
import { readFileSync } from 'node:fs';

export interface ProcessIdentity {
  readonly pid: number;
  /** In clock ticks since the machine started; with `boot` it tells two processes of one pid apart. */
  readonly startTicks: number;
  readonly boot: string;
}

/** The process that has this pid now; `undefined` when there is none, or only its remains (a zombie). */
export function identifyProcess(pid: number): ProcessIdentity | undefined {
  const stat = readProc(`/proc/${pid}/stat`);
  if (stat === undefined) return undefined;
  // The second field is the program's name in parentheses and may itself hold blanks and parentheses.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const state = fields[0];
  const startTicks = Number(fields[19]);
  if (state === 'Z' || state === 'X' || !Number.isSafeInteger(startTicks)) return undefined;
  return { pid, startTicks, boot: bootId() };
}

/** Whether the recorded process still runs. */
export function isSameProcess(recorded: ProcessIdentity): boolean {
  const now = identifyProcess(recorded.pid);
  return now !== undefined && now.startTicks === recorded.startTicks && now.boot === recorded.boot;
}

/** Sends the signal if the recorded process still runs; `false` when it does not, or is not ours to signal. */
export function signalProcess(recorded: ProcessIdentity, signal: NodeJS.Signals): boolean {
  if (!isSameProcess(recorded)) return false;
  try {
    process.kill(recorded.pid, signal);
    return true;
  } catch {
    return false;
  }
}

/** Resolves `true` when the process is gone, `false` when it still runs after `timeoutMs`. */
export async function waitForExit(recorded: ProcessIdentity, timeoutMs: number): Promise<boolean> {
  const deadline = performance.now() + timeoutMs;
  while (isSameProcess(recorded)) {
    if (performance.now() >= deadline) return false;
    await new Promise((done) => setTimeout(done, 20));
  }
  return true;
}

export function isProcessIdentity(value: unknown): value is ProcessIdentity {
  if (typeof value !== 'object' || value === null) return false;
  const { pid, startTicks, boot } = value as Record<string, unknown>;
  return (
    Number.isSafeInteger(pid) &&
    (pid as number) > 1 &&
    Number.isSafeInteger(startTicks) &&
    typeof boot === 'string'
  );
}

let knownBoot: string | undefined;

function bootId(): string {
  knownBoot ??= readProc('/proc/sys/kernel/random/boot_id')?.trim() ?? 'unknown';
  return knownBoot;
}

function readProc(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return undefined;
  }
}
