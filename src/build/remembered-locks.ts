// Locks that were made here: the last one of each recipe, so that a build right after another does not ask the
// distribution again, and the last one that was built of each image, for telling what a next build would change.
import { createHash } from 'node:crypto';
import { mkdir, readFile, rename, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { canonicalJson } from '../domain/canonical-json.ts';
import type { Json } from '../domain/json.ts';
import type { Lock } from '../domain/lock.ts';
import type { Recipe } from '../domain/recipe.ts';
import { buildRules } from './build-rules.ts';
import { readLockFile } from './lock/lock-file.ts';

/** For so long the newest packages are taken to be the newest. */
const freshMs = 15 * 60 * 1000;

export interface RememberedLocks {
  /** The lock that lies beside the recipe, else the one of this recipe that was made a short while ago. */
  previous(recipe: Recipe): Promise<Lock | undefined>;
  remember(recipe: Recipe, lock: Lock): Promise<void>;
  /** The lock that the image's last disk was built from. */
  lastBuilt(recipe: Recipe): Promise<Lock | undefined>;
  rememberBuilt(lock: Lock): Promise<void>;
}

export function rememberedLocks(cacheFolder: string, now: () => number): RememberedLocks {
  const folder = join(cacheFolder, 'locks');
  const recipePath = ({ folder: _, lockFile: __, ...recipe }: Recipe) =>
    join(folder, `recipe-${hash(canonicalJson(recipe as unknown as Json))}.json`);
  const imagePath = ({ name, kubernetes }: Recipe) =>
    join(folder, `built-${hash(`${name} ${kubernetes ?? ''}`)}.json`);

  return {
    async previous(recipe) {
      const beside = await committedLock(recipe);
      if (beside !== undefined) return beside;
      const path = recipePath(recipe);
      const found = await stat(path).catch(() => undefined);
      return found !== undefined && now() - found.mtimeMs < freshMs ? readLock(path) : undefined;
    },
    remember: (recipe, lock) => writeLock(folder, recipePath(recipe), lock),
    lastBuilt: (recipe) => readLock(imagePath(recipe)),
    rememberBuilt: (lock) => writeLock(folder, imagePath(lock.recipe), lock),
  };
}

/** Throws `lock-invalid` when the file was edited: it is not silently made anew. */
async function committedLock({ lockFile, kubernetes }: Recipe): Promise<Lock | undefined> {
  if (lockFile === undefined) return undefined;
  const text = await readFile(lockFile, 'utf8').catch(() => undefined);
  if (text === undefined) return undefined;
  const { locks } = readLockFile(text, lockFile);
  return locks.find((lock) => lock.recipe.kubernetes === kubernetes);
}

async function readLock(path: string): Promise<Lock | undefined> {
  try {
    const lock = JSON.parse(await readFile(path, 'utf8')) as Lock;
    return lock.rules === buildRules ? lock : undefined;
  } catch {
    return undefined;
  }
}

async function writeLock(folder: string, path: string, lock: Lock): Promise<void> {
  await mkdir(folder, { recursive: true });
  await writeFile(`${path}.${process.pid}`, JSON.stringify(lock));
  await rename(`${path}.${process.pid}`, path);
}

function hash(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 32);
}
