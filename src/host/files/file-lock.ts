// Locks between processes that the kernel releases when their holder exits, so that a killed process
// never leaves one behind. Node has no call for them, but SQLite, which is part of Node, takes such a lock
// on its database file. Nothing is ever stored in these files.
import { existsSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';
import { throwIfAborted } from '../../async/abort.ts';
import { ImagoError } from '../../domain/error/imago-error.ts';

const SQLITE_BUSY = 5;
const firstWaitMs = 2;
const longestWaitMs = 50;
const defaultTimeoutMs = 120_000;

export interface FileLock {
  /** A second call does nothing. */
  release(): void;
}

/** Takes the lock, making its file if need be; `undefined` when someone, here or elsewhere, holds it. */
export function tryFileLock(path: string): FileLock | undefined {
  const database = new DatabaseSync(path, { timeout: 0 });
  try {
    database.exec('PRAGMA journal_mode=MEMORY; BEGIN EXCLUSIVE');
  } catch (error) {
    database.close();
    if (error instanceof Error && 'errcode' in error && error.errcode === SQLITE_BUSY) return undefined;
    throw error;
  }
  return {
    release() {
      if (database.isOpen) database.close();
    },
  };
}

/** Whether a living process holds the lock. A file that does not exist is not locked. */
export function isFileLocked(path: string): boolean {
  if (!existsSync(path)) return false;
  const lock = tryFileLock(path);
  lock?.release();
  return lock === undefined;
}

export interface LockWait {
  readonly signal?: AbortSignal | undefined;
  readonly timeoutMs?: number;
}

const queues = new Map<string, Promise<void>>();

/**
 * Runs `work` while holding the lock. Callers of one process take their turn in order; other processes are
 * waited for up to the timeout, then `store-busy` is thrown. Not re-entrant.
 */
export async function withFileLock<T>(path: string, wait: LockWait, work: () => Promise<T>): Promise<T> {
  const before = queues.get(path) ?? Promise.resolve();
  const turn = Promise.withResolvers<void>();
  const queued = before.then(() => turn.promise);
  queues.set(path, queued);
  try {
    await before;
    const lock = await waitForLock(path, wait);
    try {
      return await work();
    } finally {
      lock.release();
    }
  } finally {
    turn.resolve();
    if (queues.get(path) === queued) queues.delete(path);
  }
}

async function waitForLock(path: string, wait: LockWait): Promise<FileLock> {
  const deadline = performance.now() + (wait.timeoutMs ?? defaultTimeoutMs);
  for (let pause = firstWaitMs; ; pause = Math.min(pause * 2, longestWaitMs)) {
    throwIfAborted(wait.signal);
    const lock = tryFileLock(path);
    if (lock !== undefined) return lock;
    if (performance.now() >= deadline) {
      throw new ImagoError('store-busy', `${path} is still locked by another process`);
    }
    await sleep(pause);
  }
}
