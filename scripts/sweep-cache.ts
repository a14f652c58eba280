// Keeps the cache of a development host within its limit, in one place: builds by their own limit, and Kubernetes
// binaries, root file systems and benchmark inputs together by the one below. What killed runs left behind goes first.
import { readdir, rm, stat } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { cacheBytes, defaultCacheLimits, pruneCache } from '../src/build/content/prune.ts';
import { cacheFolders } from '../src/host/tools/tools.ts';

export interface SweepLimits {
  readonly maxBytes: number;
  /** What was used more recently than this is kept. */
  readonly inUseMs: number;
}

const gib = 1024 ** 3;
const hour = 3_600_000;
const sweepLimits: SweepLimits = { maxBytes: 10 * gib, inUseMs: 6 * hour };
const leftoverAgeMs = 24 * hour;

interface Entry {
  readonly path: string;
  readonly bytes: number;
  readonly usedAt: number;
}

/** Returns what it removed. A second call right after removes nothing. */
export async function sweepCache(
  cache: string = cacheFolders()[0] ?? '',
  limits: SweepLimits = sweepLimits,
  now: number = Date.now(),
): Promise<readonly string[]> {
  const removed: string[] = [];
  const remove = async ({ path }: Entry) => {
    await rm(path, { recursive: true, force: true });
    removed.push(path);
  };
  for (const folder of [join(cache, 'kubernetes'), join(cache, 'test')])
    for (const entry of await entriesOf(folder))
      if (isLeftover(basename(entry.path)) && now - entry.usedAt > leftoverAgeMs) await remove(entry);

  for (const folder of [join(cache, 'build'), join(cache, 'test', 'build')])
    if ((await cacheBytes(folder)) > 0) await pruneCache(folder, defaultCacheLimits, now);

  const parts = [join(cache, 'kubernetes'), join(cache, 'test'), join(cache, 'bench')];
  const kept = (await Promise.all(parts.map(entriesOf)))
    .flat()
    .filter(({ path }) => path !== join(cache, 'test', 'build') && !isLeftover(basename(path)))
    .toSorted((a, b) => a.usedAt - b.usedAt);
  let left = kept.reduce((sum, { bytes }) => sum + bytes, 0);
  for (const entry of kept) {
    if (left <= limits.maxBytes || now - entry.usedAt < limits.inUseMs) break;
    await remove(entry);
    left -= entry.bytes;
  }
  return removed;
}

/** Work directories: of the current scripts, and of earlier versions of them. */
function isLeftover(name: string): boolean {
  return /^(?:imago-work-\d+|go|source|work|build-work)-/.test(name);
}

async function entriesOf(folder: string): Promise<readonly Entry[]> {
  const names = await readdir(folder).catch(() => []);
  return Promise.all(
    names.map(async (name) => {
      const path = join(folder, name);
      const found = await stat(path).catch(() => undefined);
      return { path, usedAt: found?.mtimeMs ?? 0, bytes: found === undefined ? 0 : await bytesBelow(path) };
    }),
  );
}

async function bytesBelow(path: string): Promise<number> {
  const found = await stat(path).catch(() => undefined);
  if (found === undefined || !found.isDirectory()) return found?.size ?? 0;
  const entries = await readdir(path, { recursive: true, withFileTypes: true }).catch(() => []);
  const sizes = await Promise.all(
    entries
      .filter((entry) => entry.isFile())
      .map(
        async (entry) => (await stat(join(entry.parentPath, entry.name)).catch(() => undefined))?.size ?? 0,
      ),
  );
  return sizes.reduce((sum, size) => sum + size, 0);
}

if (import.meta.main) for (const path of await sweepCache()) console.log(`removed ${path}`);
