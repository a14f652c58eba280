// Floors: versions of an image that nodes pass through on their way from an older version to a newer one.
import { compareNumbers, parseNumber, readNumber } from '../image/version-number.ts';

/** Returns the floors between the oldest of the nodes and the target, lowest first. On the way back there are none. */
export function floorsBetween(
  floors: readonly string[],
  nodes: readonly string[],
  target: string,
): readonly string[] {
  const isBelow = (a: string, b: string) => compareNumbers(parseNumber(a), parseNumber(b)) < 0;
  const known = nodes.filter((version) => readNumber(version) !== undefined);
  return floors
    .filter((floor) => isBelow(floor, target) && known.some((version) => isBelow(version, floor)))
    .toSorted((a, b) => compareNumbers(parseNumber(a), parseNumber(b)));
}
