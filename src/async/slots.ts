// A bound on how many step bodies run at the same time. Runs that only wait hold no slot.

export interface Slots {
  /** Runs `body` as soon as a slot is free, first come first served. */
  use<T>(body: () => Promise<T>): Promise<T>;
}

export function createSlots(count: number): Slots {
  const line: (() => void)[] = [];
  let free = count;

  async function take(): Promise<void> {
    if (free > 0) {
      free -= 1;
      return;
    }
    await new Promise<void>((resolve) => line.push(resolve));
  }

  function give(): void {
    const next = line.shift();
    if (next) next();
    else free += 1;
  }

  return {
    async use(body) {
      await take();
      try {
        return await body();
      } finally {
        give();
      }
    },
  };
}
