// Which packs of earlier versions a new version goes on using.
//
// A manifest names its packs by digest, so a pack can never be rewritten under a version that exists. The
// choice is made once, when a version is stored: it refers to an old pack while it is worth it, and
// otherwise takes the chunks that it still needs into new packs of its own. The old pack goes, through
// garbage collection, with the last version that names it. A client that pulls a version, or keeps only that one,
// so never carries much more than the version needs.
export interface PackUse {
  readonly pack: number;
  /** Bytes of disk in all chunks of the pack. */
  readonly payload: number;
  /** Bytes of those that the new version uses. */
  readonly used: number;
}

/** Packs that are less than half used are rewritten, once together they waste more than this of the version. */
const tolerableWaste = 1 / 16;
/** A manifest with more packs than this has its small ones joined. */
export const maxPacks = 256;
const packsAfterJoining = 192;
const smallPack = 32 * 1024 * 1024;

/** The packs that the new version should not refer to. `newBytes` and `newPacks` are what it adds itself. */
export function packsToRewrite(uses: readonly PackUse[], newBytes: number, newPacks: number): Set<number> {
  const total = newBytes + uses.reduce((sum, use) => sum + use.used, 0);
  const sparse = uses.filter((use) => use.used * 2 < use.payload);
  const waste = sparse.reduce((sum, use) => sum + use.payload - use.used, 0);
  const rewrite = new Set(waste > total * tolerableWaste ? sparse.map((use) => use.pack) : []);

  const kept = uses.filter((use) => !rewrite.has(use.pack));
  if (kept.length + newPacks <= maxPacks) return rewrite;
  const smallestFirst = kept.filter((use) => use.used < smallPack).sort((a, b) => a.used - b.used);
  const surplus = Math.max(0, kept.length + newPacks - packsAfterJoining);
  for (const use of smallestFirst.slice(0, surplus)) rewrite.add(use.pack);
  return rewrite;
}

const firstPackSize = 32 * 1024 * 1024;
const largestPackSize = 4 * 1024 * 1024 * 1024;
const packsOfOneSize = 32;

/** How many bytes of disk go into new pack number n: a small disk gets packs of 32 MiB, a large one few packs. */
export function packTarget(number: number): number {
  return Math.min(firstPackSize * 2 ** Math.floor(number / packsOfOneSize), largestPackSize);
}
