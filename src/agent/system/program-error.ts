// Runs required commands, and describes why one failed: for lack of space, which can pass, or for another reason.
import { ImagoError } from '../../domain/error/imago-error.ts';
import { isDiskFullMessage, type RunResult, type System } from './system.ts';

interface Need {
  /** The failure, as the beginning of the error message. */
  readonly what: string;
  readonly timeoutMs?: number;
  readonly retryable?: boolean;
}

/** Returns the output of the command. Throws `programError` if it fails. */
export async function runOrThrow(
  system: System,
  command: readonly string[],
  { what, timeoutMs = 300_000, retryable = false }: Need,
): Promise<string> {
  const result = await system.run(command, { timeoutMs });
  if (result.exitCode === 0) return result.stdout;
  throw programError(what, result, { retryable, line: -1 });
}

/**
 * Returns `node-disk-full`, which is retried, or `node-apply-failed`. `what` is the beginning of the message. The reason is
 * the line of the output at `line`: some commands print it first, and some last.
 */
export function programError(
  what: string,
  { stderr, exitCode }: RunResult,
  { retryable = false, line = 0 }: { readonly retryable?: boolean; readonly line?: 0 | -1 } = {},
): ImagoError {
  const lines = stderr.trim().split('\n');
  const full = lines.find(isDiskFullMessage);
  if (full !== undefined) return diskFull(`${what}: ${full.trim()}`);
  const said = lines.at(line) || `exit code ${exitCode}`;
  return new ImagoError('node-apply-failed', `${what}: ${said}`, { retryable });
}

export function diskFull(message: string): ImagoError {
  return new ImagoError('node-disk-full', message, { retryable: true });
}
