// Why a program failed: for lack of space, which may pass, or for a reason of its own.
import { ImagoError } from '../domain/errors.ts';
import { type RunResult, saysFull } from './system.ts';

/** `node-disk-full`, which is tried again, or `node-apply-failed`. `what` is the beginning of a sentence. */
export function programError(what: string, { stderr, exitCode }: RunResult): ImagoError {
  const lines = stderr.trim().split('\n');
  const full = lines.find(saysFull);
  if (full !== undefined) return diskFull(`${what}: ${full.trim()}`);
  return new ImagoError('node-apply-failed', `${what}: ${lines[0] || `exit code ${exitCode}`}`);
}

export function diskFull(message: string): ImagoError {
  return new ImagoError('node-disk-full', message, { retryable: true });
}
