// Time for tests: it stands still until someone moves it, or jumps to the next due time when nothing is left
// to do in this process.
import type { Clock } from '../../../src/ports/clock.ts';

export interface VirtualClock extends Clock {
  /** Moves time on, waking every sleeper on the way at its own due time. */
  advance(ms: number): Promise<void>;
  /** Sets the clock without anyone's sleep getting longer or shorter, as a person or NTP does. */
  jump(ms: number): void;
}

export interface VirtualClockOptions {
  readonly start?: number;
  /** Jump to the next due time as soon as nothing else is left to do. */
  readonly auto?: boolean;
}

interface Sleeper {
  readonly due: number;
  wake(): void;
}

const defaultStart = Date.parse('2026-01-01T00:00:00Z');

export function createVirtualClock(options: VirtualClockOptions = {}): VirtualClock {
  const sleepers: Sleeper[] = [];
  let passed = 0;
  let offset = options.start ?? defaultStart;
  let jumping = false;

  function add(sleeper: Sleeper): void {
    const after = sleepers.findIndex((other) => other.due > sleeper.due);
    sleepers.splice(after === -1 ? sleepers.length : after, 0, sleeper);
  }

  function remove(sleeper: Sleeper): void {
    const place = sleepers.indexOf(sleeper);
    if (place !== -1) sleepers.splice(place, 1);
  }

  function wakeNext(): boolean {
    const next = sleepers.shift();
    if (next === undefined) return false;
    passed = Math.max(passed, next.due);
    next.wake();
    return true;
  }

  async function jumpWhileIdle(): Promise<void> {
    if (jumping) return;
    jumping = true;
    do await idle();
    while (wakeNext());
    jumping = false;
  }

  return {
    now: () => offset + passed,
    sleep(ms, signal) {
      return new Promise((resolve, reject) => {
        if (signal?.aborted) return reject(signal.reason);
        const sleeper: Sleeper = { due: passed + Math.max(0, ms), wake };
        function wake(): void {
          signal?.removeEventListener('abort', abort);
          resolve();
        }
        function abort(): void {
          remove(sleeper);
          reject(signal?.reason);
        }
        signal?.addEventListener('abort', abort, { once: true });
        add(sleeper);
        if (options.auto) void jumpWhileIdle();
      });
    },
    async advance(ms) {
      const end = passed + ms;
      await idle();
      while (sleepers[0] !== undefined && sleepers[0].due <= end) {
        wakeNext();
        await idle();
      }
      passed = end;
    },
    jump(ms) {
      offset += ms;
    },
  };
}

/** Lets everything that can go on without time do so. */
async function idle(): Promise<void> {
  for (let turn = 0; turn < 3; turn += 1) await new Promise((resolve) => setImmediate(resolve));
}
