// The request budgets of a subscription, as Azure publishes them in `x-ms-ratelimit-remaining-resource`.
import { ArmError } from './arm-error.ts';

/**
 * A name with what it allows in 3 and in 30 minutes; with one number, in a window of 3 minutes without suffix. A budget
 * whose name ends with `Resource` is that of one resource, in a minute.
 */
export type Budget = readonly [name: string, in3Min: number, in30Min?: number];

const minute = 60_000;

export class Budgets {
  readonly #used = new Map<string, { count: number; from: number }>();
  readonly #now: () => number;

  constructor(now: () => number) {
    this.#now = now;
  }

  /** Takes one request from the budgets and returns what is left, as the header says it. Throws 429 if nothing is. */
  spend(budgets: readonly Budget[], resource: string): string {
    const now = this.#now();
    const left = budgets.flatMap(windowsOf).map(({ name, limit, ms }) => {
      const key = name.endsWith('Resource') ? `${name} ${resource.toLowerCase()}` : name;
      const known = this.#used.get(key);
      const current = known !== undefined && now < known.from + ms ? known : { count: 0, from: now };
      if (limit > 0 && current.count >= limit) throw throttled(name, current.from + ms - now);
      this.#used.set(key, { ...current, count: current.count + 1 });
      return `Microsoft.Compute/${name};${Math.max(0, limit - current.count - 1)}`;
    });
    return left.join(',');
  }
}

function windowsOf([name, in3Min, in30Min]: Budget) {
  if (name.endsWith('Resource')) return [{ name, limit: in3Min, ms: minute }];
  if (in30Min === undefined) return [{ name, limit: in3Min, ms: 3 * minute }];
  return [
    { name: `${name}3Min`, limit: in3Min, ms: 3 * minute },
    { name: `${name}30Min`, limit: in30Min, ms: 30 * minute },
  ];
}

function throttled(name: string, waitMs: number): ArmError {
  const retryAfter = Math.max(1, Math.ceil(waitMs / 1000));
  return new ArmError(
    429,
    'TooManyRequests',
    `The server rejected the request because too many requests of type ${name} have been received. Retry after ${retryAfter} seconds.`,
    { retryAfter },
  );
}
