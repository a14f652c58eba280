// Versions that are deleted softly: hidden from everything but their own list.
import type { Document } from '../arm/documents.ts';

/** Returns when the version was deleted softly; `undefined` if it was not. */
export function hiddenSince({ own }: Document): number | undefined {
  return typeof own?.softDeletedAt === 'number' ? own.softDeletedAt : undefined;
}
