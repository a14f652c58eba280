// The ways in which a provider that we wrote says no, in one place so that they mean the same everywhere.
import { ImagoError } from '../../domain/error/imago-error.ts';

/** Something else stands there; trying again does not help. */
export function conflict(message: string): ImagoError {
  return new ImagoError('provider-conflict', message);
}

/** Other work on the same thing is under way; trying again later helps. */
export function busy(message: string): ImagoError {
  return new ImagoError('provider-conflict', message, { retryable: true });
}

export function notFound(message: string): ImagoError {
  return new ImagoError('provider-not-found', message);
}

export function invalid(message: string): ImagoError {
  return new ImagoError('input-invalid', message);
}

export function lacks(message: string): ImagoError {
  return new ImagoError('provider-lacks', message);
}

/** Refuses when one more would pass the limit. */
export function checkLimit(what: string, wanted: number, limit: number): void {
  if (wanted <= limit) return;
  throw new ImagoError(
    'provider-quota',
    `The provider allows ${limit} ${what}, and this would make ${wanted}.`,
    {
      details: { limit, wanted },
    },
  );
}
