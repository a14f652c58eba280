// Why a program failed: for lack of space, which may pass, or for a reason of its own.
import { ImagoError } from '../../domain/error/imago-error.ts';
import { type RunResult, type System, saysFull } from './system.ts';

interface Need {
  /** What has failed with it: the beginning of a sentence. */
  readonly what: string;
  readonly timeoutMs?: number;
  readonly retryable?: boolean;
}

/** What the program said. Throws as `programError` says. */
export async function need(
  system: System,
  command: readonly string[],
  { what, timeoutMs = 300_000, retryable = false }: Need,
): Promise<string> {
  const result = await system.run(command, { timeoutMs });
  if (result.exitCode === 0) return result.stdout;
  throw programError(what, result, { retryable, line: -1 });
}

/**
 * `node-disk-full`, which is tried again, or `node-apply-failed`. `what` is the beginning of a sentence. Of what the
 * program said the line counts that is at `line`: some begin with the reason, and some end with it.
 */
export function programError(
  what: string,
  { stderr, exitCode }: RunResult,
  { retryable = false, line = 0 }: { readonly retryable?: boolean; readonly line?: 0 | -1 } = {},
): ImagoError {
  const lines = stderr.trim().split('\n');
  const full = lines.find(saysFull);
  if (full !== undefined) return diskFull(`${what}: ${full.trim()}`);
  const said = lines.at(line) || `exit code ${exitCode}`;
  return new ImagoError('node-apply-failed', `${what}: ${said}`, { retryable });
}

export function diskFull(message: string): ImagoError {
  return new ImagoError('node-disk-full', message, { retryable: true });
}
