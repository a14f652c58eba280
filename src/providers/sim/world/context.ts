// What the roles of the simulated provider share.
import { type Bend, type Cloud, sha256 } from '../../../cloud/state/cloud.ts';
import type { World } from '../../../cloud/state/state-file.ts';
import type { Clock } from '../../../ports/clock.ts';
import type { DurationKind, DurationOf } from './durations.ts';

export interface SimContext extends Cloud {
  readonly clock: Clock;
  readonly durationOf: DurationOf;
}

/** Returns when work that starts now ends. */
export function endOf(
  { world, durationOf }: Pick<SimContext, 'world' | 'durationOf'>,
  kind: DurationKind,
  name: string,
  bend: Bend,
): number {
  return world.time() + Math.round(durationOf(kind, name) * bend.factor);
}

/** Returns a number that was never given before in this world. */
export function nextSerial(world: World): number {
  const serial = Number(world.fact('serial') ?? 0) + 1;
  world.setFact('serial', String(serial));
  return serial;
}

/** Returns an id in the shape that clouds give to machines. */
export function machineIdOf(world: World, ...parts: readonly (string | number)[]): string {
  const hex = sha256(world.fact('seed') ?? '', ...parts);
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-a${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}
