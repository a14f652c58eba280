// What the log of a channel's moves tells: where it points, where it pointed, and what it can go back to.
// All functions take the moves of one channel, in any order.
import type { ChannelMove } from './channel.ts';

export interface ChannelPointer {
  readonly version: string;
  readonly digest: string;
  readonly move: number;
  readonly movedAt: string;
}

/** Where the channel points after all its moves; `undefined` before the first, or when it was emptied. */
export function stateFromMoves(moves: readonly ChannelMove[]): ChannelPointer | undefined {
  return pointer(moves.reduce<ChannelMove | undefined>(later, undefined));
}

/**
 * The versions that the channel can go back to, nearest first. A move to a version where it stood before is
 * a return: what came after it is forgotten, so that going back twice does not lead forward again.
 */
export function earlierVersions(moves: readonly ChannelMove[]): readonly string[] {
  const inOrder = [...moves].sort((a, b) => a.id - b.id);
  const trail = trailOf(inOrder.flatMap(({ to }) => (to === undefined ? [] : [to])));
  const current = stateFromMoves(moves)?.version;
  return trail.filter((version) => version !== current).reverse();
}

/** Whether the channel's last move returned from this version to an earlier one. */
export function returnedFrom(moves: readonly ChannelMove[], version: string): boolean {
  const inOrder = [...moves].sort((a, b) => a.id - b.id);
  const last = inOrder.at(-1);
  if (last?.from !== version || last.to === undefined) return false;
  const earlier = inOrder.slice(0, -1).flatMap(({ to }) => (to === undefined ? [] : [to]));
  return trailOf(earlier).includes(last.to);
}

/** The way that is left of a channel which was moved to these versions one after the other: where it stands is last. */
export function trailOf(targets: readonly string[]): readonly string[] {
  const trail: string[] = [];
  const places = new Map<string, number>();
  for (const target of targets) {
    const known = places.get(target);
    if (known !== undefined) for (const forgotten of trail.splice(known)) places.delete(forgotten);
    places.set(target, trail.length);
    trail.push(target);
  }
  return trail;
}

function later(found: ChannelMove | undefined, move: ChannelMove): ChannelMove {
  return found === undefined || move.id > found.id ? move : found;
}

function pointer(move: ChannelMove | undefined): ChannelPointer | undefined {
  if (move?.to === undefined || move.toDigest === undefined) return undefined;
  return { version: move.to, digest: move.toDigest, move: move.id, movedAt: move.at };
}

/** A time in which the channel pointed at the version; without an end it still does. */
export interface Stay {
  readonly from: string;
  readonly to?: string;
}

/** The times in which the channel pointed at the version, oldest first; the last has no end while it still does. */
export function staysOf(moves: readonly ChannelMove[], version: string): readonly Stay[] {
  const inOrder = [...moves].sort((a, b) => a.id - b.id);
  return inOrder.flatMap((move, index) => {
    if (move.to !== version) return [];
    const next = inOrder[index + 1];
    return [{ from: move.at, ...(next === undefined ? {} : { to: next.at }) }];
  });
}
