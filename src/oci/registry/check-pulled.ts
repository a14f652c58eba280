// Makes sure that a pulled version may be built upon.

import { throwIfAborted } from '../../async/abort.ts';
import { mapLimit } from '../../async/map-limit.ts';
import { ImagoError } from '../../domain/error/imago-error.ts';
import { readDiskIndex } from '../chunks/disk-index.ts';
import { isLocallyVerified } from '../chunks/load-chunk-index.ts';
import { isTruePack } from '../chunks/pack-file.ts';
import { openChunkPool } from '../chunks/worker-pool.ts';
import { readManifestLike, type StoreContext, worthThreads } from '../layout/context.ts';
import type { Digest } from '../layout/digest.ts';
import { contentOf, type Manifest } from '../layout/manifest.ts';

/**
 * Checks not only the digests of a version's packs, but also that each chunk in them is what its pack's table
 * says: later versions will share these chunks by their hashes. Packs of versions that the store answers for
 * already are left out. `registry-corrupt` when one is not true.
 */
export async function checkPulledPacks(
  store: StoreContext,
  manifest: Manifest,
  signal: AbortSignal | undefined,
): Promise<void> {
  const vouched = new Set<Digest>();
  for (const entry of (await store.index.entries()).filter(isLocallyVerified)) {
    const parsed = await readManifestLike(store, entry.digest).catch(() => undefined);
    for (const part of parsed === undefined ? [] : contentOf(parsed)) vouched.add(part.digest);
  }
  const packs = (await readDiskIndex(store, manifest)).packs.filter((pack) => !vouched.has(pack.digest));
  const bytes = packs.reduce((sum, pack) => sum + pack.size, 0);
  const pool = openChunkPool(bytes < worthThreads ? 0 : store.threads);
  try {
    await mapLimit(packs, pool.width, async (pack) => {
      throwIfAborted(signal);
      if (await isTruePack(store, pool, pack)) return;
      throw new ImagoError('registry-corrupt', `pack ${pack.digest} does not hold what it says`, {
        retryable: false,
      });
    });
  } finally {
    await pool.close();
  }
}
