// Where components go on the node: absolute paths that stay where they say, no two on one place.
import { quote } from './quote.ts';
import type { OperatingSystem } from './version.ts';

/** What is wrong with the path; `undefined` when it is good. */
export function destinationProblem(os: OperatingSystem, path: string): string | undefined {
  const absolute = os === 'windows' ? /^[A-Za-z]:[\\/]/ : /^\//;
  if (!absolute.test(path)) return `its destination ${quote(path)} is not an absolute path`;
  if (/\p{Cc}/u.test(path)) return 'its destination has a control character';
  const parts = split(os, path);
  if (parts.some((part) => part === '.' || part === '..')) {
    return `its destination ${quote(path)} has a . or .. in it`;
  }
  if (parts.length <= (os === 'windows' ? 1 : 0)) return 'its destination is the root of the disk';
  return undefined;
}

interface Placed {
  readonly kind: string;
  readonly destination?: string;
}

/**
 * Whether both would stand on one path: the same, or one below a binary, which is no folder. Trees of files may
 * lie inside each other; that they bring no file twice is seen when they are unpacked.
 */
export function overlap(os: OperatingSystem, a: Placed, b: Placed): boolean {
  if (a.destination === undefined || b.destination === undefined) return false;
  const first = split(os, a.destination);
  const second = split(os, b.destination);
  const shared = Math.min(first.length, second.length);
  if (first.slice(0, shared).join('/') !== second.slice(0, shared).join('/')) return false;
  if (first.length === second.length) return true;
  return (first.length < second.length ? a : b).kind === 'binary';
}

function split(os: OperatingSystem, path: string): readonly string[] {
  const parts = os === 'windows' ? path.toLowerCase().split(/[\\/]+/) : path.split(/\/+/);
  return parts.filter((part) => part !== '');
}
