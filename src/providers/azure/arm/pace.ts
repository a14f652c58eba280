// One budget of requests for all who use the client: a kind of request that Azure throttles waits, the others go on.
import type { IncomingHttpHeaders } from 'node:http';
import { retryAfterMs } from '../../../async/retry.ts';
import { ImagoError } from '../../../domain/error/imago-error.ts';
import type { Clock } from '../../../ports/clock.ts';
import { single } from './arm-error.ts';

/** A longer wait is an error. */
const longestWaitMs = 120_000;
const reserve = 3;
const spacingMs = 5_000;

export class Pace {
  readonly #clock: Clock;
  readonly #pausedUntil = new Map<string, number>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Waits until requests of the kind can be sent. Throws `provider-throttled` if that takes too long. */
  async turn(kind: string, signal: AbortSignal): Promise<void> {
    const waitMs = (this.#pausedUntil.get(kind) ?? 0) - this.#clock.now();
    if (waitMs <= 0) return;
    if (waitMs > longestWaitMs) {
      throw new ImagoError(
        'provider-throttled',
        `Azure accepts no ${kind} for ${Math.ceil(waitMs / 1000)} s.`,
        {
          details: { retryAfterMs: waitMs },
        },
      );
    }
    await this.#clock.sleep(waitMs, signal);
  }

  /** Reads how much of the budget is left. */
  learn(kind: string, status: number, headers: IncomingHttpHeaders): void {
    const now = this.#clock.now();
    if (status === 429) {
      this.#pause(kind, retryAfterMs(single(headers['retry-after']), now) ?? spacingMs);
    } else if (leftIn(headers) < reserve) this.#pause(kind, spacingMs);
  }

  #pause(kind: string, ms: number): void {
    this.#pausedUntil.set(kind, Math.max(this.#pausedUntil.get(kind) ?? 0, this.#clock.now() + ms));
  }
}

/** `Microsoft.Compute/GetGallery3Min;349,Microsoft.Compute/GetGallery30Min;2499`. */
function leftIn(headers: IncomingHttpHeaders): number {
  const windows = (single(headers['x-ms-ratelimit-remaining-resource']) ?? '').split(',');
  const left = windows.map((window) => Number(window.split(';')[1] ?? Number.NaN));
  return Math.min(...left.filter((count) => !Number.isNaN(count)));
}
