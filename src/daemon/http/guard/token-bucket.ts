// Limits the rate of requests: each name has a bucket of `burst` requests that refills by `perSecond`. Full buckets are
// deleted, so that only recent names need memory; beyond `maxNames`, the least recent one is deleted first.

export interface RateLimiter {
  /** Takes one request from the bucket of a name, or returns how long to wait for one. */
  take(name: string): { readonly allowed: true } | { readonly allowed: false; readonly waitMs: number };
  /** Returns whether a request would be allowed, without taking it. */
  peek(name: string): { readonly allowed: true } | { readonly allowed: false; readonly waitMs: number };
  /** Number of names in memory. */
  readonly size: number;
}

interface Bucket {
  left: number;
  at: number;
}

export function createRateLimiter(
  { burst, perSecond }: { readonly burst: number; readonly perSecond: number },
  now: () => number,
  maxNames = 10_000,
): RateLimiter {
  const buckets = new Map<string, Bucket>();

  function level(name: string): number {
    const bucket = buckets.get(name);
    if (bucket === undefined) return burst;
    const passed = Math.max(0, now() - bucket.at);
    return Math.min(burst, bucket.left + (passed / 1000) * perSecond);
  }

  function deleteIdle(): void {
    for (const name of buckets.keys()) {
      if (buckets.size < maxNames && level(name) < burst) return;
      buckets.delete(name);
    }
  }

  function answer(left: number) {
    if (left >= 1) return { allowed: true } as const;
    return { allowed: false, waitMs: Math.ceil(((1 - left) / perSecond) * 1000) } as const;
  }

  return {
    take(name) {
      const left = level(name);
      const answered = answer(left);
      buckets.delete(name);
      deleteIdle();
      buckets.set(name, { left: answered.allowed ? left - 1 : left, at: now() });
      return answered;
    },
    peek: (name) => answer(level(name)),
    get size() {
      return buckets.size;
    },
  };
}
