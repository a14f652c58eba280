// The time of a simulation: where it resumes after a restart, and how users and tests control it.

import type { SimFaults } from '../../../cloud/faults/faults.ts';
import { isoTime } from '../../../cloud/state/cloud.ts';
import type { World } from '../../../cloud/state/state-file.ts';
import { ImagoError } from '../../../domain/error/imago-error.ts';
import { lacks } from '../../../domain/error/refusals.ts';
import type { Clock } from '../../../ports/clock.ts';
import type { SimControl, SimTime } from '../../../ports/provider/sim-control.ts';
import { type ClockAnchor, createScaledClock, resumeTime, type ScaledClock } from './clock.ts';

const defaultTimeScale = 1000;

export interface WorldTime {
  readonly clock: Clock;
  /** Absent when the clock was given from outside. */
  readonly scaled?: ScaledClock;
  /** Remembers time and scale for the next process. */
  keep(): void;
}

/** Sets the world's clock: the one that is given, or one that resumes where the world was left. */
export function openTime(
  world: World,
  options: { readonly clock?: Clock; readonly timeScale?: number },
): WorldTime {
  const latest = Number(world.fact('latest') ?? 0);
  if (options.clock !== undefined) {
    const clock = notBefore(latest, options.clock);
    world.goBy(clock);
    return { clock, keep: () => undefined };
  }
  const anchor = readAnchor(world);
  const scaled = createScaledClock({
    timeScale: options.timeScale ?? anchor?.timeScale ?? defaultTimeScale,
    start: resumeTime(anchor, latest, Date.now()),
  });
  world.goBy({ now: () => scaled.now(), catchUp: (time) => scaled.advanceTo(time) });
  const time = {
    clock: scaled,
    scaled,
    keep: () =>
      world.transaction(() => {
        const kept: ClockAnchor = { wall: Date.now(), time: scaled.now(), timeScale: scaled.timeScale };
        world.setFact('anchor', JSON.stringify(kept));
      }),
  };
  time.keep();
  return time;
}

/** The clock itself, or set forward to where the world already is. */
function notBefore(latest: number, clock: Clock): Clock {
  const behind = latest - clock.now();
  if (behind <= 0) return clock;
  return { now: () => clock.now() + behind, sleep: (ms, signal) => clock.sleep(ms, signal) };
}

function readAnchor(world: World): ClockAnchor | undefined {
  const text = world.fact('anchor');
  return text === undefined ? undefined : (JSON.parse(text) as ClockAnchor);
}

export function createSimControl(faults: SimFaults, time: WorldTime): SimControl {
  const read = (): SimTime => ({ now: isoTime(time.clock.now()), scale: time.scaled?.timeScale ?? 1 });
  return {
    listFaults: async () => faults.list(),
    addFault: async (spec) => faults.add(spec),
    removeFault: async (id) => faults.remove(id),
    time: async () => read(),
    async setTime({ scale, advanceMs }) {
      const { scaled } = time;
      if (scaled === undefined) throw lacks('The clock of this simulation is controlled by its caller.');
      if (advanceMs !== undefined && !(advanceMs >= 0 && Number.isFinite(advanceMs))) {
        throw new ImagoError(
          'input-invalid',
          `Time never runs backwards: ${advanceMs} ms is not a step forward.`,
        );
      }
      if (scale !== undefined) scaled.setTimeScale(scale);
      if (advanceMs !== undefined) scaled.advanceTo(scaled.now() + advanceMs);
      // Read before it is stored: the next process must not start earlier than what this one returned.
      const reached = read();
      time.keep();
      return reached;
    },
  };
}
