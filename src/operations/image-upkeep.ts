// Keeps the inputs of versions that left `candidate`, for as long as the version: mirrors forget old packages. It is
// put right from time to time, whoever moved the state, so that no crash in between can lose them.
import type { Catalogue, VersionRecord } from '../ports/catalogue.ts';
import type { KeptLocks } from '../ports/image-store.ts';
import { allPages } from './all-pages.ts';

export interface UpkeepDeps {
  readonly catalogue: Pick<Catalogue, 'listImages' | 'listVersions'>;
  readonly locks: KeptLocks;
  readonly now: () => number;
}

/** A build keeps its lock some time before its version is in the catalogue. */
const orphanMs = 24 * 3_600_000;

export interface Upkeep {
  /** One round. Says what could not be kept, once for each lock. */
  round(signal: AbortSignal): Promise<readonly string[]>;
}

export function imageUpkeep({ catalogue, locks, now }: UpkeepDeps): Upkeep {
  const whole = new Set<string>();
  const told = new Set<string>();
  const orphans = new Map<string, number>();

  async function keep(
    version: VersionRecord,
    lockDigest: string,
    signal: AbortSignal,
  ): Promise<readonly string[]> {
    const { missing } = await locks.keepInputs(lockDigest, signal);
    if (missing.length === 0) whole.add(lockDigest);
    if (missing.length === 0 || told.has(lockDigest)) return [];
    told.add(lockDigest);
    const more = missing.length === 1 ? '' : ` and ${missing.length - 1} more`;
    return [
      `${version.image}:${version.version} cannot keep all its inputs: ${missing[0]}${more} is not in the cache.`,
    ];
  }

  /** What was kept for a version that never came about goes after a day. */
  async function dropOrphans(kept: readonly string[], needed: ReadonlySet<string>): Promise<void> {
    for (const digest of kept) {
      if (needed.has(digest)) orphans.delete(digest);
      else if (!orphans.has(digest)) orphans.set(digest, now());
      else if (now() - (orphans.get(digest) ?? 0) > orphanMs) {
        await locks.drop(digest);
        orphans.delete(digest);
      }
    }
  }

  return {
    async round(signal) {
      const kept = await locks.list();
      const here = new Set(kept);
      const needed = new Set<string>();
      const troubles: string[] = [];
      for await (const image of allPages((query) => catalogue.listImages(query))) {
        for await (const version of allPages((query) => catalogue.listVersions(image.name, query))) {
          signal.throwIfAborted();
          const { origin, state } = version;
          if (origin.kind !== 'built' || state === 'deleted' || !here.has(origin.lockDigest)) continue;
          needed.add(origin.lockDigest);
          if (state === 'candidate' || whole.has(origin.lockDigest)) continue;
          troubles.push(...(await keep(version, origin.lockDigest, signal)));
        }
      }
      await dropOrphans(kept, needed);
      return troubles;
    },
  };
}
