// Keeps the cache within its limit: what was not used for the longest goes first. What a running build may be
// using is left alone.
import { readdir, rm, stat } from 'node:fs/promises';
import { basename, join } from 'node:path';

export interface CacheLimits {
  readonly maxBytes: number;
  /** Half-made downloads and locks that nobody went on with are removed after this. */
  readonly partialAgeMs: number;
  /** What was used more recently than this is never removed. */
  readonly inUseMs: number;
}

export const defaultCacheLimits: CacheLimits = {
  maxBytes: 30 * 1024 ** 3,
  partialAgeMs: 24 * 60 * 60 * 1000,
  inUseMs: 60 * 60 * 1000,
};

export interface PruneReport {
  readonly bytesBefore: number;
  readonly bytesRemoved: number;
  readonly filesRemoved: number;
}

interface CachedFile {
  readonly path: string;
  readonly bytes: number;
  readonly usedAt: number;
}

/** Inputs and layers count; a second call right after removes nothing. */
export async function pruneCache(
  cacheFolder: string,
  limits: CacheLimits,
  now: number,
): Promise<PruneReport> {
  const kept = [
    ...(await filesBelow(join(cacheFolder, 'inputs'))),
    ...(await filesBelow(join(cacheFolder, 'layers', 'blobs'))),
  ].sort((a, b) => a.usedAt - b.usedAt);
  const bytesBefore = kept.reduce((sum, { bytes }) => sum + bytes, 0);
  let bytesRemoved = 0;
  let filesRemoved = 0;
  const remove = async ({ path, bytes }: CachedFile) => {
    await rm(path, { force: true });
    bytesRemoved += bytes;
    filesRemoved += 1;
  };
  for (const file of kept) {
    if (bytesBefore - bytesRemoved <= limits.maxBytes || now - file.usedAt < limits.inUseMs) break;
    await remove(file);
  }
  const abandoned = [
    ...(await filesBelow(join(cacheFolder, 'partial'))),
    ...(await filesBelow(join(cacheFolder, 'temporary'))),
    ...(await filesBelow(join(cacheFolder, 'locks'))).filter(({ path }) => !isLastBuilt(path)),
  ];
  for (const file of abandoned) if (now - file.usedAt > limits.partialAgeMs) await remove(file);
  return { bytesBefore, bytesRemoved, filesRemoved };
}

/** What an image was last built from is small, and explains the next build. */
function isLastBuilt(path: string): boolean {
  return basename(path).startsWith('built-');
}

async function filesBelow(folder: string): Promise<CachedFile[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => []);
  const files: CachedFile[] = [];
  for (const entry of entries) {
    if (!entry.isFile()) continue;
    const path = join(entry.parentPath, entry.name);
    const found = await stat(path).catch(() => undefined);
    if (found !== undefined) files.push({ path, bytes: found.size, usedAt: found.mtimeMs });
  }
  return files;
}
