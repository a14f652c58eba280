// A clock that tests move by hand, or that jumps from one due time to the next.
import type { Clock } from '../../../src/ports/clock.ts';

export interface VirtualClock extends Clock {
  /** Moves time on, waking every sleeper on the way at its own due time, in order. */
  advance(ms: number): Promise<void>;
  /** How many sleepers wait. */
  readonly waiting: number;
}

export interface VirtualClockOptions {
  /** Milliseconds since 1970; the same in every run unless given, so that tests repeat. */
  readonly start?: number;
  /** A sleep jumps to the next due time as soon as nothing else is left to do in this process. */
  readonly auto?: boolean;
}

interface Sleeper {
  readonly due: number;
  readonly order: number;
  readonly wake: () => void;
}

const defaultStart = Date.parse('2026-11-15T00:00:00Z');

export function createVirtualClock(options: VirtualClockOptions = {}): VirtualClock {
  const sleepers = new Set<Sleeper>();
  let time = options.start ?? defaultStart;
  let slept = 0;
  let jumping = false;

  function nextSleeper(): Sleeper | undefined {
    let next: Sleeper | undefined;
    for (const sleeper of sleepers) {
      const sooner = next === undefined || sleeper.due < next.due;
      if (sooner || (sleeper.due === next?.due && sleeper.order < next.order)) next = sleeper;
    }
    return next;
  }

  function wakeNext(sleeper: Sleeper): void {
    time = Math.max(time, sleeper.due);
    sleepers.delete(sleeper);
    sleeper.wake();
  }

  async function jump(): Promise<void> {
    jumping = true;
    for (;;) {
      await idle();
      const next = nextSleeper();
      if (next === undefined) break;
      wakeNext(next);
    }
    jumping = false;
  }

  return {
    now: () => time,
    get waiting() {
      return sleepers.size;
    },
    sleep(ms, signal) {
      return new Promise((resolve, reject) => {
        if (signal?.aborted) return reject(signal.reason);
        const sleeper = { due: time + Math.max(0, ms), order: slept++, wake };
        function wake() {
          signal?.removeEventListener('abort', abort);
          resolve();
        }
        function abort() {
          sleepers.delete(sleeper);
          reject(signal?.reason);
        }
        signal?.addEventListener('abort', abort, { once: true });
        sleepers.add(sleeper);
        if (options.auto === true && !jumping) void jump();
      });
    },
    async advance(ms) {
      const end = time + ms;
      for (let next = nextSleeper(); next !== undefined && next.due <= end; next = nextSleeper()) {
        wakeNext(next);
        await idle();
      }
      time = Math.max(time, end);
      await idle();
    },
  };
}

/** Lets everything run that can run without time passing. */
function idle(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
