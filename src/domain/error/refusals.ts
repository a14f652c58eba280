// The errors with which providers refuse a call, in one place so that they mean the same everywhere.
import { ImagoError } from './imago-error.ts';

/** Something else has that name; trying again does not help. */
export function conflict(message: string): ImagoError {
  return new ImagoError('provider-conflict', message);
}

/** Other work on the same thing is in progress; trying again later helps. */
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

/** Refuses what would exceed the limit, if there is one. */
export function checkLimit(what: string, wanted: number, limit: number | undefined): void {
  if (limit === undefined || wanted <= limit) return;
  throw new ImagoError(
    'provider-quota',
    `The provider allows ${limit} ${what}, and this would make ${wanted}.`,
    {
      details: { limit, wanted },
    },
  );
}
