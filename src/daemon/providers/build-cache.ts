// Gives access to the build cache of this host, for prune, doctor, and background jobs. Does not create it.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { cacheBytes, defaultCacheLimits } from '../../build/content/prune.ts';
import { cacheFolders } from '../../host/tools/tools.ts';
import type { BuildCache } from '../../ports/database/lifecycle.ts';

/** Returns the directory of downloads and layers. */
export function buildCacheFolder(
  home: string,
  env: Readonly<Record<string, string | undefined>>,
  uid: number,
): string {
  return join(cacheFolders(env, uid)[0] ?? join(home, 'cache'), 'build');
}

export function buildCache(
  folder: string,
  prune: () => Promise<{ readonly bytesRemoved: number }>,
): BuildCache {
  return {
    async use() {
      if (!existsSync(folder)) return undefined;
      return { folder, bytes: await cacheBytes(folder), limitBytes: defaultCacheLimits.maxBytes };
    },
    trim: async () => (existsSync(folder) ? (await prune()).bytesRemoved : 0),
  };
}
