// Decides whether failed work is retried, and after which pause.
import { ensureImagoError, ImagoError } from '../../domain/error/imago-error.ts';

const firstPauseMs = 1_000;
const maxPauseMs = 60_000;
/** A provider that asks for a longer pause than this is not waited for inside a step. */
const maxRequestedMs = 15 * 60_000;

/**
 * Returns the pause before the next attempt. It doubles with every attempt, and is spread by a fifth so that many do not
 * retry at the same moment. A longer pause that the provider requests takes precedence. `chance` is between 0 and 1.
 */
export function retryPause(error: ImagoError, tried: number, chance: number): number {
  const growing = Math.min(firstPauseMs * 2 ** (tried - 1), maxPauseMs);
  const asked = error.details?.retryAfterMs;
  const requested = typeof asked === 'number' && asked > 0 ? Math.min(asked, maxRequestedMs) : 0;
  return Math.max(growing * (0.9 + 0.2 * chance), requested);
}

/** Failures of this host or its network that are unrelated to the work: a lost connection, a restarting server. */
const transientCodes = new Set([
  ...['ECONNABORTED', 'ECONNREFUSED', 'ECONNRESET', 'EHOSTUNREACH', 'ENETUNREACH', 'EPIPE', 'ETIMEDOUT'],
  ...['EAI_AGAIN', 'UND_ERR_CONNECT_TIMEOUT', 'UND_ERR_SOCKET'],
]);

/** Returns the error of a step as an ImagoError, `retryable` if the same work can succeed in a moment. */
export function asStepError(thrown: unknown): ImagoError {
  if (thrown instanceof ImagoError || !isTransient(thrown)) return ensureImagoError(thrown);
  const message = thrown instanceof Error ? thrown.message : String(thrown);
  return new ImagoError('provider-no-reply', message, { cause: thrown });
}

function isTransient(thrown: unknown): boolean {
  if (!(thrown instanceof Error)) return false;
  if ('code' in thrown && typeof thrown.code === 'string' && transientCodes.has(thrown.code)) return true;
  return isTransient(thrown.cause);
}
