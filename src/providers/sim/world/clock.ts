// The clocks of the simulated world: one that tests move by hand or let jump from one due time to the next,
// and one that runs faster than real time and goes on where it was after a restart.
import { ImagoError } from '../../../domain/error/imago-error.ts';
import type { Clock } from '../../../ports/clock.ts';

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

/** What a world remembers of its clock. */
export interface ClockAnchor {
  readonly wall: number;
  readonly time: number;
  readonly timeScale: number;
}

/**
 * The time of a world that was closed, or whose process died: the time that passed since has passed there too,
 * at its scale. Never before `latest`, the last time that something happened, also when the computer's clock
 * was set back.
 */
export function resumeTime(anchor: ClockAnchor | undefined, latest: number, wall: number): number {
  if (anchor === undefined) return Math.max(wall, latest);
  const passed = Math.max(0, wall - anchor.wall) * anchor.timeScale;
  return Math.max(latest, anchor.time + passed);
}

export interface ScaledClock extends Clock {
  readonly timeScale: number;
  /** From now on; who sleeps wakes sooner or later accordingly. */
  setTimeScale(timeScale: number): void;
  /** Moves time on to `time`; a time that has passed changes nothing. */
  advanceTo(time: number): void;
}

export interface ScaledClockOptions {
  /** Milliseconds of the world for one of real time. */
  readonly timeScale: number;
  /** The world's time now. */
  readonly start: number;
  /** Milliseconds that never go back, whatever is done to the computer's clock. */
  readonly monotonic?: () => number;
}

const longestTimerMs = 2 ** 31 - 1;

export function createScaledClock(options: ScaledClockOptions): ScaledClock {
  const monotonic = options.monotonic ?? (() => performance.now());
  const sleepers = new Set<() => void>();
  let timeScale = checkedScale(options.timeScale);
  let time = options.start;
  let began = monotonic();

  function now(): number {
    return time + (monotonic() - began) * timeScale;
  }

  function restart(from: number, scale: number): void {
    began = monotonic();
    time = from;
    timeScale = scale;
    for (const arm of [...sleepers]) arm();
  }

  return {
    now,
    get timeScale() {
      return timeScale;
    },
    setTimeScale: (scale) => restart(now(), checkedScale(scale)),
    advanceTo: (to) => restart(Math.max(now(), to), timeScale),
    sleep(ms, signal) {
      return new Promise((resolve, reject) => {
        if (signal?.aborted) return reject(signal.reason);
        const due = now() + ms;
        let timer: NodeJS.Timeout | undefined;
        function arm(): void {
          clearTimeout(timer);
          const left = (due - now()) / timeScale;
          if (left <= 0) end(resolve);
          else timer = setTimeout(arm, Math.min(left, longestTimerMs));
        }
        function abort(): void {
          end(() => reject(signal?.reason));
        }
        function end(settle: () => void): void {
          clearTimeout(timer);
          sleepers.delete(arm);
          signal?.removeEventListener('abort', abort);
          settle();
        }
        sleepers.add(arm);
        signal?.addEventListener('abort', abort, { once: true });
        arm();
      });
    },
  };
}

function checkedScale(timeScale: number): number {
  if (timeScale > 0 && Number.isFinite(timeScale)) return timeScale;
  throw new ImagoError('input-invalid', `The time scale must be a number above 0, not ${timeScale}.`);
}
