// What tests of builds begin with: a folder with the test recipe, a cache that has the layers of packages already
// (linked from the one that all tests share, which the first test on a machine fills), and an empty store.
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { type BuilderOptions, createBuilder, type ImageBuilder } from '../../src/build/builder.ts';
import { lockDigest } from '../../src/build/lock/lock-file.ts';
import { openFileSource } from '../../src/disk/bytes/byte-source.ts';
import type { Lock } from '../../src/domain/lock/lock.ts';
import { runTool } from '../../src/host/process/run-tool.ts';
import { fetchTools } from '../../src/host/tools/fetch-tools.ts';
import { cacheFolders } from '../../src/host/tools/tools.ts';
import type { Inventory } from '../../src/inventory/model/inventory.ts';
import { readInventory } from '../../src/inventory/read-inventory.ts';
import { type DiskStore, openDiskStore } from '../../src/oci/disks/disk-store.ts';
import { extractDisk } from '../../src/oci/disks/extract-disk.ts';
import { parseDigest } from '../../src/oci/layout/digest.ts';
import type { SealedDisk } from '../../src/ports/provider/builder.ts';
import { loadVariant } from './build-child.ts';
import { patience } from './speed.ts';
import { sharedBuildCache, writeTestRecipe } from './test-recipe.ts';

export interface BuiltDisk extends SealedDisk {
  /** The layers that were taken from the cache, and those that were made. */
  readonly reused: readonly string[];
  readonly made: readonly string[];
}

export interface BuildFixture {
  readonly folder: string;
  readonly cache: string;
  readonly store: DiskStore;
  /** The lock of the test recipe as it is; its layers of packages are in the cache. */
  readonly lock: Lock;
  builder(options?: Partial<BuilderOptions>): ImageBuilder;
  /** The lock of another text, with the packages of `lock` where they are the same. */
  lockText(text: string, builder?: ImageBuilder, kubernetes?: string): Promise<Lock>;
  build(lock: Lock, builder?: ImageBuilder): Promise<BuiltDisk>;
  inventory(digest: string): Promise<Inventory>;
  end(): Promise<void>;
}

export const call = { signal: new AbortController().signal, epoch: 0 };
/** How long the first fixture on a machine may take: it fills the shared cache. */
export const firstBuildMs = patience(900_000);
export const quiet = { progress() {}, log() {} };

const shared = ['content', 'locked-tools'];
const limits = { maxBytes: 4 * 1024 ** 3, partialAgeMs: 24 * 3600_000, inUseMs: 24 * 3600_000 };

/** A second call gives another one. */
export async function buildFixture(): Promise<BuildFixture> {
  await fetchTools({ group: 'disk' });
  const folder = await workFolder();
  const recipe = await writeTestRecipe(folder);
  const store = await openDiskStore(join(folder, 'store'));
  const warm = createBuilder({ cacheFolder: sharedBuildCache(), store, limits });
  const lock = await lockOf(warm, recipe);
  await warm.rebuild(lock, quiet, call, async () => undefined);
  await warm.prune();
  const cache = join(folder, 'cache');
  await linkSharedCache(cache);
  const builder = (options: Partial<BuilderOptions> = {}) =>
    createBuilder({ cacheFolder: cache, store, ...options });
  return {
    ...{ folder, cache, store, lock, builder },
    async lockText(text, own = builder(), kubernetes) {
      await writeFile(recipe, text);
      return lockOf(own, recipe, kubernetes, lock);
    },
    async build(wanted, own = builder()) {
      const lines: string[] = [];
      const progress = { progress() {}, log: (line: string) => void lines.push(line) };
      const request = { lock: wanted, lockDigest: lockDigest(wanted) };
      const sealed = await own.build(request, progress, call);
      const named = (pattern: RegExp) => lines.flatMap((line) => pattern.exec(line)?.[1] ?? []);
      return { ...sealed, reused: named(/^(.+): reused$/), made: named(/^(.+): done in /) };
    },
    inventory: (digest) => inventoryOf(store, digest, folder),
    async end() {
      await store.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** What is on a sealed disk. */
export async function inventoryOf(store: DiskStore, digest: string, folder: string): Promise<Inventory> {
  const path = join(folder, `${digest.slice(-12)}.raw`);
  await extractDisk(store, parseDigest(digest), path, { flush: false });
  const source = await openFileSource(path);
  try {
    return await readInventory(source);
  } finally {
    await source.close();
    await rm(path);
  }
}

/** A cache with all that the shared one has, to which what is made goes alone. */
async function linkSharedCache(cache: string): Promise<void> {
  await mkdir(cache);
  const there = shared.map((name) => join(sharedBuildCache(), name)).filter(existsSync);
  if (there.length > 0) await runTool('cp', ['-al', ...there, cache]);
}

/**
 * The same as the cache folder of a daemon, for `IMAGO_CACHE`: with the machine's tools, and nothing that only a
 * daemon's builds left. `cache` is what its builder uses; `folder` must be on the file system of the shared one.
 */
export async function daemonCache(folder: string, cache = join(folder, 'linked')): Promise<string> {
  if (!existsSync(cache)) await linkSharedCache(cache);
  const whole = join(folder, 'imago');
  await mkdir(whole);
  await symlink(cache, join(whole, 'build'));
  await symlink(join(cacheFolders()[0] ?? '', 'tools'), join(whole, 'tools'));
  return whole;
}

/** A folder beside the shared cache, which later tests sweep away should this one be killed. */
export async function workFolder(): Promise<string> {
  await mkdir(sharedBuildCache(), { recursive: true });
  await sweepOld();
  return mkdtemp(`${sharedBuildCache()}-work-`);
}

/** What tests left that were killed a day ago or earlier. */
async function sweepOld(): Promise<void> {
  const parent = dirname(sharedBuildCache());
  for (const name of (await readdir(parent)).filter((entry) => entry.startsWith('build-work-'))) {
    const path = join(parent, name);
    const { mtimeMs } = await stat(path).catch(() => ({ mtimeMs: Date.now() }));
    if (Date.now() - mtimeMs > 24 * 3600_000) await rm(path, { recursive: true, force: true });
  }
}

async function lockOf(
  builder: ImageBuilder,
  file: string,
  kubernetes?: string,
  previous?: Lock,
): Promise<Lock> {
  const recipe = await loadVariant({ recipe: file, ...(kubernetes && { kubernetes }) });
  return builder.lock(recipe, quiet, { ...call, previous });
}
