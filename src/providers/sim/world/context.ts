// What the roles of the simulated provider share.
import { createHash } from 'node:crypto';
import type { Clock } from '../../../ports/clock.ts';
import type { Abilities } from '../../../ports/provider/provider.ts';
import { invalid } from '../../common/refusals.ts';
import type { Bend, SimCall } from './call.ts';
import type { DurationKind, DurationOf } from './durations.ts';
import type { Limits } from './limits.ts';
import type { World } from './world.ts';

export interface SimContext {
  readonly world: World;
  readonly clock: Clock;
  readonly call: SimCall;
  readonly abilities: Abilities;
  readonly limits: Limits;
  readonly durationOf: DurationOf;
  /** Where things stand when no region is named, also at a provider that shows no regions. */
  readonly homeRegion: string;
  readonly defaultGallery: string;
}

/** When work that begins now ends. */
export function endOf(context: SimContext, kind: DurationKind, name: string, bend: Bend): number {
  return context.world.time() + Math.round(context.durationOf(kind, name) * bend.factor);
}

/** A number that was never given before in this world. */
export function nextSerial(world: World): number {
  const serial = Number(world.fact('serial') ?? 0) + 1;
  world.setFact('serial', String(serial));
  return serial;
}

export function sha256(...parts: readonly (string | number)[]): string {
  return createHash('sha256').update(parts.join('\n')).digest('hex');
}

/** Shaped like the id that a cloud gives a machine. */
export function machineIdOf(world: World, ...parts: readonly (string | number)[]): string {
  const hex = sha256(world.fact('seed') ?? '', ...parts);
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-a${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}

export function isoTime(ms: number): string {
  return new Date(ms).toISOString();
}

/** The region that is meant, refused when the provider does not have it. */
export function regionNamed(context: SimContext, region: string | undefined): string {
  if (region === undefined) return context.homeRegion;
  if (context.abilities.regions.includes(region)) return region;
  throw invalid(`The provider has no region ${region}.`);
}
