// One piece of work that several callers wait for. It stops when the last of them has given up, not the first.

export interface SharedWork<Event, Result> {
  /** Joins the work under that key, or begins it. `hear` gets what it tells from now on. */
  join(
    key: string,
    signal: AbortSignal,
    hear: (event: Event) => void,
    work: (signal: AbortSignal, tell: (event: Event) => void) => Promise<Result>,
  ): Promise<Result>;
}

interface Job<Event, Result> {
  readonly result: Promise<Result>;
  readonly listeners: Set<(event: Event) => void>;
  readonly abort: AbortController;
}

export function createSharedWork<Event, Result>(): SharedWork<Event, Result> {
  const jobs = new Map<string, Job<Event, Result>>();

  function begin(
    key: string,
    work: (signal: AbortSignal, tell: (event: Event) => void) => Promise<Result>,
  ): Job<Event, Result> {
    const listeners = new Set<(event: Event) => void>();
    const abort = new AbortController();
    const tell = (event: Event) => {
      for (const hear of listeners) hear(event);
    };
    const begun = Promise.resolve().then(() => work(abort.signal, tell));
    const result = begun.finally(() => {
      if (jobs.get(key)?.abort === abort) jobs.delete(key);
    });
    result.catch(() => undefined);
    const job = { result, listeners, abort };
    jobs.set(key, job);
    return job;
  }

  return {
    async join(key, signal, hear, work) {
      signal.throwIfAborted();
      const known = jobs.get(key);
      const job = known === undefined || known.abort.signal.aborted ? begin(key, work) : known;
      const mine = (event: Event) => hear(event);
      job.listeners.add(mine);
      const { promise: left, reject } = Promise.withResolvers<never>();
      const leave = () => reject(signal.reason);
      signal.addEventListener('abort', leave, { once: true });
      try {
        return await Promise.race([job.result, left]);
      } finally {
        signal.removeEventListener('abort', leave);
        job.listeners.delete(mine);
        if (job.listeners.size === 0) job.abort.abort(signal.reason);
      }
    },
  };
}
