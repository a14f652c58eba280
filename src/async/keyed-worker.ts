// Work in the background, one piece at a time for each thing. Work is "look at what is to be done and do it", so
// that requesting it while it runs means one more run afterwards, however often it was requested.

export interface Lanes {
  run(key: string, work: () => Promise<void>): void;
  /** Resolves when nothing runs. */
  idle(): Promise<void>;
  /** Starts no further work, and waits for the work that runs. */
  close(): Promise<void>;
}

export interface LanesOptions {
  /** Work that throws is tried again after this. */
  readonly retryMs: number;
  readonly onTrouble: (key: string, error: unknown) => void;
  /** Called when work that threw has succeeded. */
  readonly onRepaired?: (key: string) => void;
}

interface Lane {
  again: boolean;
  done: Promise<void>;
}

export function createLanes({ retryMs, onTrouble, onRepaired }: LanesOptions): Lanes {
  const lanes = new Map<string, Lane>();
  const retries = new Map<string, NodeJS.Timeout>();
  const failing = new Set<string>();
  let closed = false;

  async function go(key: string, lane: Lane, work: () => Promise<void>): Promise<void> {
    do {
      lane.again = false;
      try {
        await work();
        if (failing.delete(key)) onRepaired?.(key);
      } catch (error) {
        failing.add(key);
        onTrouble(key, error);
        retryLater(key, work);
      }
    } while (lane.again && !closed);
    lanes.delete(key);
  }

  function retryLater(key: string, work: () => Promise<void>): void {
    if (closed || retries.has(key)) return;
    const timer = setTimeout(() => {
      retries.delete(key);
      run(key, work);
    }, retryMs);
    timer.unref();
    retries.set(key, timer);
  }

  function run(key: string, work: () => Promise<void>): void {
    if (closed) return;
    const running = lanes.get(key);
    if (running !== undefined) {
      running.again = true;
      return;
    }
    const lane: Lane = { again: false, done: Promise.resolve() };
    lanes.set(key, lane);
    lane.done = Promise.resolve().then(() => go(key, lane, work));
  }

  async function idle(): Promise<void> {
    while (lanes.size > 0) await Promise.all([...lanes.values()].map(({ done }) => done));
  }

  return {
    run,
    idle,
    async close() {
      closed = true;
      for (const timer of retries.values()) clearTimeout(timer);
      retries.clear();
      await idle();
    },
  };
}
