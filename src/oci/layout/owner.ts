// The one process that has a store open. It locks the folder until it closes the store or exits, so the blobs that it
// needs and the order of its changes can be kept in memory. Whatever a killed process left, the next one removes.
import { readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { createTurns } from '../../async/keyed-mutex.ts';
import { ImagoError } from '../../domain/error/imago-error.ts';
import { systemCode } from '../../host/files/durable-files.ts';
import { type FileLock, waitForFileLock } from '../../host/files/file-lock.ts';
import type { Digest } from './digest.ts';
import type { StorePaths } from './paths.ts';

/** Keeps blobs from being collected as garbage, whether or not anything refers to them, until it is released. */
export interface StoreHold {
  /** Must be called inside `exclusive`, together with the check that finds the blob. */
  pin(digests: Iterable<Digest>): void;
  /** Calling it again has no effect. */
  release(): void;
}

export class StoreOwner {
  /** Runs work on one object at a time, in the order of the calls. */
  readonly inTurn = createTurns();
  readonly #paths: StorePaths;
  readonly #lock: FileLock;
  readonly #holds = new Set<ReadonlySet<Digest>>();
  #files = 0;

  private constructor(paths: StorePaths, lock: FileLock) {
    this.#paths = paths;
    this.#lock = lock;
  }

  /** Locks the folder, and removes unfinished files. Throws `store-busy` if another process keeps it open. */
  static async open(paths: StorePaths, waitMs: number): Promise<StoreOwner> {
    const lock = await waitForFileLock(paths.lock, waitMs);
    if (lock === undefined) {
      throw new ImagoError('store-busy', `Another process has the store at ${paths.root} open.`);
    }
    for (const name of await readdir(paths.temporary)) await rm(join(paths.temporary, name));
    return new StoreOwner(paths, lock);
  }

  /**
   * Runs a change of index.json, of the set of blobs, or a check that a change must not overtake. Changes run one at a
   * time. Must not be called from inside itself.
   */
  exclusive<T>(work: () => Promise<T>): Promise<T> {
    return this.inTurn('store', work);
  }

  /** Returns the path of a new file to write to, on the store's file system. */
  temporaryPath(): string {
    return join(this.#paths.temporary, String(this.#files++));
  }

  hold(): StoreHold {
    const pinned = new Set<Digest>();
    this.#holds.add(pinned);
    return {
      pin(digests) {
        for (const digest of digests) pinned.add(digest);
      },
      release: () => {
        this.#holds.delete(pinned);
      },
    };
  }

  async holding<T>(work: (hold: StoreHold) => Promise<T>): Promise<T> {
    const hold = this.hold();
    try {
      return await work(hold);
    } finally {
      hold.release();
    }
  }

  /** Lists what is held. It is only complete inside `exclusive`. */
  pinned(): Digest[] {
    return [...this.#holds].flatMap((hold) => [...hold]);
  }

  /** Unlocks the folder. Calling it again has no effect. */
  close(): void {
    this.#holds.clear();
    this.#lock.release();
  }
}

/** How long an unfinished download waits for a pull that resumes it. */
export const downloadAgeMs = 24 * 60 * 60 * 1000;

/** Removes unfinished downloads that were last written to before the given time. */
export async function sweepDownloads({ partial }: StorePaths, before: number): Promise<void> {
  for (const name of await readdir(partial)) {
    const path = join(partial, name);
    try {
      if ((await stat(path)).mtimeMs <= before) await rm(path);
    } catch (error) {
      if (systemCode(error) !== 'ENOENT') throw error;
    }
  }
}
