// Remembers the last so many names, by their hash: the names may be secrets.
import { createHash } from 'node:crypto';

export interface RecentNames {
  has(name: string): boolean;
  /** Remembers it, and forgets the one that was added the longest time ago when there are too many. */
  add(name: string): void;
}

export function createRecentNames(max: number): RecentNames {
  const hashes = new Set<string>();
  return {
    has: (name) => hashes.has(hashOf(name)),
    add(name) {
      const hash = hashOf(name);
      hashes.delete(hash);
      hashes.add(hash);
      const [oldest] = hashes;
      if (hashes.size > max && oldest !== undefined) hashes.delete(oldest);
    },
  };
}

function hashOf(name: string): string {
  return createHash('sha256').update(name).digest('base64');
}
