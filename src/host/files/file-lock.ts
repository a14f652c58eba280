// Locks between processes that the kernel releases when their holder exits, so that a killed process
// never leaves one behind. Node has no call for them, but SQLite, which is part of Node, takes such a lock
// on its database file. Nothing is ever stored in these files.
import { existsSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';
import { throwIfAborted } from '../../async/abort.ts';
import { createTurns } from '../../async/keyed-mutex.ts';
import { ImagoError } from '../../domain/error/imago-error.ts';

const SQLITE_BUSY = 5;
const firstWaitMs = 2;
const longestWaitMs = 50;
const defaultTimeoutMs = 120_000;

export interface FileLock {
  /** Calling it again has no effect. */
  release(): void;
}

/** Takes the lock, and creates its file if needed. Returns `undefined` if it is held, by this process or another. */
export function tryFileLock(path: string): FileLock | undefined {
  const database = new DatabaseSync(path, { timeout: 0 });
  try {
    database.exec('PRAGMA journal_mode=MEMORY; PRAGMA locking_mode=EXCLUSIVE; BEGIN EXCLUSIVE');
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

/** Returns whether a living process holds the lock. A file that does not exist is not locked. */
export function isFileLocked(path: string): boolean {
  if (!existsSync(path)) return false;
  const lock = tryFileLock(path);
  lock?.release();
  return lock === undefined;
}

/** Waits for the lock. Returns `undefined` if it is still held after `timeoutMs`. */
export async function waitForFileLock(
  path: string,
  timeoutMs: number,
  signal?: AbortSignal,
): Promise<FileLock | undefined> {
  const deadline = performance.now() + timeoutMs;
  for (let pause = firstWaitMs; ; pause = Math.min(pause * 2, longestWaitMs)) {
    throwIfAborted(signal);
    const lock = tryFileLock(path);
    if (lock !== undefined || performance.now() >= deadline) return lock;
    await sleep(pause);
  }
}

export interface LockWait {
  readonly signal?: AbortSignal | undefined;
  readonly timeoutMs?: number;
}

const inTurn = createTurns();

/**
 * Runs `work` while holding the lock. Callers of one process take turns in order; other processes are
 * waited for up to the timeout, then it throws `store-busy`. Not re-entrant.
 */
export function withFileLock<T>(path: string, wait: LockWait, work: () => Promise<T>): Promise<T> {
  return inTurn(path, async () => {
    const lock = await waitForFileLock(path, wait.timeoutMs ?? defaultTimeoutMs, wait.signal);
    if (lock === undefined) throw new ImagoError('store-busy', `${path} is still locked by another process`);
    try {
      return await work();
    } finally {
      lock.release();
    }
  });
}
