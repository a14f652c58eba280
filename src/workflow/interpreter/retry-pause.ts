// How long to wait before work that failed is tried again.
import type { ImagoError } from '../../domain/error/imago-error.ts';

const firstPauseMs = 1_000;
const longestPauseMs = 60_000;
/** A provider that asks for more patience than this is not waited for inside a step. */
const longestAskedMs = 15 * 60_000;

/**
 * Doubles with every try, spread by up to a fifth so that many do not come back at the same moment; what the
 * provider asks for counts when it is longer. `chance` is between 0 and 1.
 */
export function retryPause(error: ImagoError, tried: number, chance: number): number {
  const growing = Math.min(firstPauseMs * 2 ** (tried - 1), longestPauseMs);
  const spread = growing * (0.9 + 0.2 * chance);
  return Math.max(spread, askedFor(error));
}

function askedFor(error: ImagoError): number {
  const asked = error.details?.retryAfterMs;
  return typeof asked === 'number' && asked > 0 ? Math.min(asked, longestAskedMs) : 0;
}
