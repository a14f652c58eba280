// What the roles of the simulated provider share.
import type { Bend, Cloud } from '../../../cloud/state/cloud.ts';
import type { World } from '../../../cloud/state/state-file.ts';
import type { Clock } from '../../../ports/clock.ts';
import type { DurationKind, DurationOf } from './durations.ts';

/** What every time in the simulated world follows from. */
export interface SimTiming {
  readonly world: World;
  readonly durationOf: DurationOf;
}

export interface SimContext extends Cloud, SimTiming {
  readonly clock: Clock;
}

/** Returns when work that starts now ends. */
export function endOf(
  { world, durationOf }: SimTiming,
  kind: DurationKind,
  name: string,
  bend: Bend,
): number {
  return world.time() + Math.round(durationOf(kind, name) * bend.factor);
}
