// Work that several callers want at the same time is done once: it ends when the last of them has gone.

export interface SharedWork<T> {
  /** Joins the work under the key, or starts it. Rejects with the signal's reason when the caller's own aborts. */
  join(key: string, signal: AbortSignal, start: (signal: AbortSignal) => Promise<T>): Promise<T>;
}

interface Running<T> {
  readonly result: Promise<T>;
  readonly control: AbortController;
  waiting: number;
}

export function sharedWork<T>(): SharedWork<T> {
  const running = new Map<string, Running<T>>();

  function begin(key: string, start: (signal: AbortSignal) => Promise<T>): Running<T> {
    const control = new AbortController();
    const result = start(control.signal).finally(() => running.delete(key));
    result.catch(() => undefined);
    const work = { result, control, waiting: 0 };
    running.set(key, work);
    return work;
  }

  return {
    async join(key, signal, start) {
      signal.throwIfAborted();
      const work = running.get(key) ?? begin(key, start);
      work.waiting += 1;
      const left = Promise.withResolvers<never>();
      const leave = () => {
        if (work.waiting === 1) work.control.abort(signal.reason);
        else left.reject(signal.reason);
      };
      signal.addEventListener('abort', leave, { once: true });
      try {
        return await Promise.race([work.result, left.promise]);
      } finally {
        work.waiting -= 1;
        signal.removeEventListener('abort', leave);
      }
    },
  };
}
