// One call for what many callers ask at the same time: what comes while a call runs goes with the next one.

interface Waiting<T> {
  readonly items: readonly T[];
  readonly done: PromiseWithResolvers<void>;
}

/** If a call for several callers fails, each of them gets a call of its own: one cannot fail the others. */
export function gather<T>(
  work: (items: readonly T[]) => Promise<void>,
): (items: readonly T[]) => Promise<void> {
  let waiting: Waiting<T>[] = [];
  let isRunning = false;

  async function run(): Promise<void> {
    isRunning = true;
    for (let taken = waiting; taken.length > 0; taken = waiting) {
      waiting = [];
      await settle(taken);
    }
    isRunning = false;
  }

  async function settle(taken: readonly Waiting<T>[]): Promise<void> {
    try {
      await work(taken.flatMap(({ items }) => items));
      for (const { done } of taken) done.resolve();
    } catch (thrown) {
      const [only, ...others] = taken;
      if (others.length === 0) only?.done.reject(thrown);
      else for (const one of taken) await settle([one]);
    }
  }

  return (items) => {
    const done = Promise.withResolvers<void>();
    waiting.push({ items, done });
    if (!isRunning) void run();
    return done.promise;
  };
}
