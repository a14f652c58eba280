// Locks that were made here: the last one of each image, so that a build right after another does not ask the
// distribution again and the versions of a matrix use the same packages, and the last one that was built of each
// image, for telling what a next build would change.
import { createHash } from 'node:crypto';
import { stat } from 'node:fs/promises';
import type { Lock } from '../domain/lock/lock.ts';
import type { Recipe } from '../domain/recipe/recipe.ts';
import { readRecord, recordPath, writeRecord } from './content/records.ts';
import { requireLock } from './lock/lock-file.ts';
import { buildRules } from './lock/rules.ts';

/** For so long the newest packages are taken to be the newest. */
const freshMs = 15 * 60 * 1000;

export interface KnownLock {
  readonly lock: Lock;
  /** When its newest inputs were looked up; 0 when that is not known. */
  readonly at: number;
}

export interface LockCache {
  /** A lock of this image that was made a short while ago. */
  previous(recipe: Recipe): Promise<KnownLock | undefined>;
  /** `at` is that of the lock that this one was made from, if there was one. */
  remember(lock: Lock, at: number): Promise<void>;
  /** The lock that the image's last disk was built from. */
  lastBuilt(recipe: Recipe): Promise<Lock | undefined>;
  rememberBuilt(lock: Lock): Promise<void>;
}

export function lockCache(cacheFolder: string, now: () => number): LockCache {
  const lockedPath = ({ name }: Recipe) => recordPath(cacheFolder, 'locked', `${hash(name)}.json`);
  const builtPath = ({ name, kubernetes }: Recipe) =>
    recordPath(cacheFolder, 'built', `${hash(`${name} ${kubernetes ?? ''}`)}.json`);
  const write = (path: string, lock: Lock, at?: Date) =>
    writeRecord(cacheFolder, path, JSON.stringify(lock), at);

  return {
    async previous(recipe) {
      const path = lockedPath(recipe);
      const lock = await readLock(path);
      const at = (await stat(path).catch(() => undefined))?.mtimeMs ?? 0;
      return lock !== undefined && Math.abs(now() - at) < freshMs ? { lock, at } : undefined;
    },
    remember: (lock, at) => write(lockedPath(lock.recipe), lock, new Date(at)),
    lastBuilt: (recipe) => readLock(builtPath(recipe)),
    rememberBuilt: (lock) => write(builtPath(lock.recipe), lock),
  };
}

async function readLock(path: string): Promise<Lock | undefined> {
  try {
    const lock = requireLock((await readRecord<Lock>(path)) as Lock);
    return lock.rules === buildRules ? lock : undefined;
  } catch {
    return undefined;
  }
}

function hash(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 32);
}
