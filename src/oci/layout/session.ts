// One process's presence in a store. While it lives, its temporary files and the blobs that it pinned are
// left alone by everyone; the kernel tells when it has died, and then the next process clears up.
import { randomUUID } from 'node:crypto';
import { appendFileSync, closeSync, openSync, rmSync } from 'node:fs';
import { readdir, readFile, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { storeError, systemCode } from '../../host/files/durable-files.ts';
import { type FileLock, isFileLocked, tryFileLock } from '../../host/files/file-lock.ts';
import { type Digest, isDigest } from './digest.ts';
import type { StorePaths } from './paths.ts';

export interface StoreSession {
  readonly id: string;
  /** A new name under which this session may write; swept once the session is dead. */
  temporaryPath(): string;
  hold(): StoreHold;
  /** Lets go of everything. A second call does nothing. */
  close(): void;
}

/** Keeps blobs from being collected as garbage, whatever refers to them, until it is released. */
export interface StoreHold {
  /** Must be called while the store's lock is held, together with the look that finds the blob. */
  pin(digests: Iterable<Digest>): void;
  /** A second call does nothing. */
  release(): void;
}

/** Whoever sweeps at this moment may hold the new lock to see whether it is held: then another name is taken. */
function lockNewName(paths: StorePaths): { id: string; lockPath: string; lock: FileLock } {
  for (;;) {
    const id = randomUUID();
    const lockPath = join(paths.sessions, id);
    const lock = tryFileLock(lockPath);
    if (lock !== undefined) return { id, lockPath, lock };
  }
}

export function startSession(paths: StorePaths): StoreSession {
  const { id, lockPath, lock } = lockNewName(paths);
  const holds = new Set<StoreHold>();
  let counter = 0;

  function hold(): StoreHold {
    const path = join(paths.pins, `${id}.${counter++}`);
    const file = openSync(path, 'a');
    const pinned = new Set<Digest>();
    let open = true;
    const made: StoreHold = {
      pin(digests) {
        const added = [...digests].filter((digest) => !pinned.has(digest));
        if (added.length === 0) return;
        try {
          appendFileSync(file, `${added.join('\n')}\n`);
        } catch (error) {
          throw storeError(error, 'noting what must be kept in the store');
        }
        for (const digest of added) pinned.add(digest);
      },
      release() {
        if (!open) return;
        open = false;
        holds.delete(made);
        closeSync(file);
        rmSync(path, { force: true });
      },
    };
    holds.add(made);
    return made;
  }

  return {
    id,
    temporaryPath: () => join(paths.temporary, `${id}.${counter++}`),
    hold,
    close() {
      for (const open of [...holds]) open.release();
      lock.release();
      rmSync(lockPath, { force: true });
    },
  };
}

/** What living sessions have pinned. Only complete while the store's lock is held. */
export async function pinnedDigests(paths: StorePaths): Promise<Set<Digest>> {
  const pinned = new Set<Digest>();
  for (const name of await readdir(paths.pins)) {
    if (!isFileLocked(join(paths.sessions, sessionOf(name)))) continue;
    const text = await readFile(join(paths.pins, name), 'utf8').catch(absent);
    for (const line of (text ?? '').split('\n')) if (isDigest(line)) pinned.add(line);
  }
  return pinned;
}

export interface SweepLimits {
  /** Files of dead sessions younger than this stay: a clock or a lock may be wrong for a moment. */
  readonly temporaryAgeMs: number;
  /** Downloads that nobody went on with are given up after this. */
  readonly partialAgeMs: number;
}

/** Removes what dead sessions left behind and returns the bytes that this freed. */
export async function sweepDeadSessions(
  paths: StorePaths,
  limits: SweepLimits,
  now: number,
): Promise<number> {
  let freed = 0;
  for (const folder of [paths.temporary, paths.pins]) {
    for (const name of await readdir(folder)) {
      if (isFileLocked(join(paths.sessions, sessionOf(name)))) continue;
      freed += await removeIfOlder(join(folder, name), now - limits.temporaryAgeMs);
    }
  }
  for (const name of await readdir(paths.partial)) {
    freed += await removeIfOlder(join(paths.partial, name), now - limits.partialAgeMs);
  }
  for (const id of await readdir(paths.sessions)) {
    const path = join(paths.sessions, id);
    if (!isFileLocked(path)) await removeIfOlder(path, now - limits.temporaryAgeMs);
  }
  return freed;
}

function sessionOf(fileName: string): string {
  return fileName.slice(0, fileName.indexOf('.'));
}

async function removeIfOlder(path: string, before: number): Promise<number> {
  try {
    const { mtimeMs, size } = await stat(path);
    if (mtimeMs > before) return 0;
    await rm(path);
    return size;
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return 0;
    throw error;
  }
}

function absent(error: unknown): undefined {
  if (systemCode(error) === 'ENOENT') return undefined;
  throw error;
}
