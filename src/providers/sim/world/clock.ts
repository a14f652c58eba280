// The clock of the simulated world: it runs faster than real time and continues where it was after a restart.
import { ImagoError } from '../../../domain/error/imago-error.ts';
import type { Clock } from '../../../ports/clock.ts';

/** What a world remembers of its clock. */
export interface ClockAnchor {
  readonly wall: number;
  readonly time: number;
  readonly timeScale: number;
}

/**
 * The time of a world that was closed, or whose process died: the time that passed since has passed there too,
 * at its scale. Never before `latest`, the last time that something happened, even if the host's clock was set back.
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
  /** Returns milliseconds that never go back, regardless of the host's clock. */
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
