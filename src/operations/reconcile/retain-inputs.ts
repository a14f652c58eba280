// Keeps the inputs of versions that left `candidate`, for as long as the version: mirrors forget old packages. It is
// reconciled periodically, regardless of what changed the state, so that no crash in between can lose them.
import type { FoundProblem } from '../../domain/problem/problem.ts';
import type { Catalogue, LockedVersion } from '../../ports/database/catalog.ts';
import type { KeptLocks } from '../../ports/image-store/image-store.ts';

export interface UpkeepDeps {
  readonly catalogue: Pick<Catalogue, 'listByLocks'>;
  readonly locks: KeptLocks;
  readonly now: () => number;
}

/** A build keeps its lock some time before its version is in the catalog. */
const orphanMs = 24 * 3_600_000;
/** The number of locks per query. */
const locksAtOnce = 500;

export interface Upkeep {
  /** Runs once. Returns everything that cannot be retained now. */
  round(signal: AbortSignal): Promise<readonly FoundProblem[]>;
}

export function imageUpkeep({ catalogue, locks, now }: UpkeepDeps): Upkeep {
  const whole = new Set<string>();
  const orphans = new Map<string, number>();

  async function keep(
    { image, version, lockDigest }: LockedVersion,
    signal: AbortSignal,
  ): Promise<readonly FoundProblem[]> {
    const { missing } = await locks.keepInputs(lockDigest, signal);
    if (missing.length === 0) {
      whole.add(lockDigest);
      return [];
    }
    const more = missing.length === 1 ? '' : ` and ${missing.length - 1} more`;
    const message = `${image}:${version} cannot be rebuilt: ${missing[0]}${more} is no longer in the cache.`;
    return [{ kind: 'inputs-missing', subject: `version/${image}:${version}`, message }];
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
      const needed = new Set<string>();
      const problems: FoundProblem[] = [];
      for (let start = 0; start < kept.length; start += locksAtOnce) {
        for (const version of await catalogue.listByLocks(kept.slice(start, start + locksAtOnce))) {
          signal.throwIfAborted();
          needed.add(version.lockDigest);
          if (version.state === 'candidate' || whole.has(version.lockDigest)) continue;
          problems.push(...(await keep(version, signal)));
        }
      }
      await dropOrphans(kept, needed);
      return problems;
    },
  };
}
