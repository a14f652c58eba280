// Where things go on the node: absolute paths that stay where they say.

import type { OperatingSystem } from '../image/version.ts';
import { quote } from '../value/quote.ts';

/** What is wrong with the path; `undefined` when it is good. */
export function destinationProblem(os: OperatingSystem, path: string): string | undefined {
  const absolute = os === 'windows' ? /^[A-Za-z]:[\\/]/ : /^\//;
  if (!absolute.test(path)) return `its destination ${quote(path)} is not an absolute path`;
  if (/\p{Cc}/u.test(path)) return 'its destination has a control character';
  const parts = splitDestination(os, path);
  if (parts.some((part) => part === '.' || part === '..')) {
    return `its destination ${quote(path)} has a . or .. in it`;
  }
  if (parts.length <= (os === 'windows' ? 1 : 0)) return 'its destination is the root of the disk';
  return undefined;
}

/** The names on the way to a path. Windows does not tell upper from lower case. */
export function splitDestination(os: OperatingSystem, path: string): readonly string[] {
  const parts = os === 'windows' ? path.toLowerCase().split(/[\\/]+/) : path.split(/\/+/);
  return parts.filter((part) => part !== '');
}
