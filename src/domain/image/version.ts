// Which of two versions is newer.
import type { VersionRecord } from './record.ts';
import { compareVersions } from './version-number.ts';

export type { Architecture, OperatingSystem } from './platform.ts';
export type { ImageRecord, Origin, VersionRecord } from './record.ts';

type Aged = Pick<VersionRecord, 'version' | 'createdAt'>;

/**
 * Negative when `a` was made before `b`. Age, not number, decides what is newest: under the Kubernetes
 * policies 1.35.9 may be built long after 1.36.1, and the greater number says nothing.
 */
export function compareAge(a: Aged, b: Aged): number {
  return compareTimes(a.createdAt, b.createdAt) || compareVersions(a.version, b.version);
}

const usualTime = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;

/** Times in their usual form are in the order of their texts, and reading each of tens of thousands takes long. */
function compareTimes(a: string, b: string): number {
  if (!usualTime.test(a) || !usualTime.test(b)) return Date.parse(a) - Date.parse(b);
  return a < b ? -1 : Number(a > b);
}

/** The one made last; `undefined` when there is none. */
export function newestOf<T extends Aged>(versions: Iterable<T>): T | undefined {
  let newest: T | undefined;
  for (const version of versions) {
    if (newest === undefined || compareAge(version, newest) > 0) newest = version;
  }
  return newest;
}
