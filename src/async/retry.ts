// Tries again what may succeed the next time: lost connections, answers that say "later". Waits longer each
// time, with jitter so that many clients do not come back together, and as long as the server asks.
import { setTimeout as sleep } from 'node:timers/promises';
import { ensureImagoError, type ImagoError } from '../domain/error/imago-error.ts';
import { throwIfAborted } from './abort.ts';

export interface RetryPolicy {
  /** How often the work is tried at most. */
  readonly attempts: number;
  readonly firstDelayMs: number;
  readonly longestDelayMs: number;
}

export const defaultRetry: RetryPolicy = { attempts: 6, firstDelayMs: 250, longestDelayMs: 15_000 };

/** Runs `work` until it succeeds, fails for good, or was tried often enough; then its last error is thrown. */
export async function withRetry<T>(
  policy: RetryPolicy,
  signal: AbortSignal | undefined,
  work: (attempt: number) => Promise<T>,
): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    throwIfAborted(signal);
    try {
      return await work(attempt);
    } catch (error) {
      throwIfAborted(signal);
      const failure = ensureImagoError(error);
      if (!failure.retryable || attempt >= policy.attempts) throw error;
      await sleep(delay(policy, attempt, failure), undefined, signal === undefined ? {} : { signal }).catch(
        () => undefined,
      );
    }
  }
}

function delay(policy: RetryPolicy, attempt: number, failure: ImagoError): number {
  const asked = failure.details?.retryAfterMs;
  const backOff = Math.min(policy.firstDelayMs * 2 ** (attempt - 1), policy.longestDelayMs);
  const wait = backOff * (0.5 + Math.random() / 2);
  return typeof asked === 'number' ? Math.min(Math.max(asked, wait), policy.longestDelayMs) : wait;
}

/** Seconds or a date, as HTTP has it; `undefined` when it is neither. */
export function retryAfterMs(header: string | undefined, now: number): number | undefined {
  if (header === undefined) return undefined;
  if (/^\d+$/.test(header.trim())) return Number(header) * 1000;
  const date = Date.parse(header);
  return Number.isNaN(date) ? undefined : Math.max(0, date - now);
}
