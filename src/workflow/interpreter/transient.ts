// Errors of the computer and its network that say nothing about the work: a connection cut, a server that
// restarts. Work that met one is tried again although nobody marked the error so.
import { ensureImagoError, ImagoError } from '../../domain/error/imago-error.ts';

const transientCodes = new Set([
  'ECONNABORTED',
  'ECONNREFUSED',
  'ECONNRESET',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'EPIPE',
  'ETIMEDOUT',
  'EAI_AGAIN',
  'UND_ERR_CONNECT_TIMEOUT',
  'UND_ERR_SOCKET',
]);

/** What was thrown as an ImagoError, `retryable` when the same work may well succeed in a moment. */
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
