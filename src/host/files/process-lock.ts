// A lock that one process of the machine holds on a file, and that the kernel releases when the process
// dies, so that none is ever left behind. Node.js has no call for it; SQLite, which is part of Node.js,
// takes such a lock on its database file. Nothing is stored in that file.
import { DatabaseSync } from 'node:sqlite';

export interface FileLock {
  /** A second call does nothing. */
  release(): void;
}

const SQLITE_BUSY = 5;

/** Takes the lock, or answers `undefined` when another process holds it. Throws when the file cannot be made. */
export function tryFileLock(path: string): FileLock | undefined {
  const database = new DatabaseSync(path, { timeout: 0 });
  try {
    database.exec('PRAGMA journal_mode=MEMORY; PRAGMA locking_mode=EXCLUSIVE; BEGIN EXCLUSIVE');
  } catch (error) {
    database.close();
    if (isBusy(error)) return undefined;
    throw error;
  }
  return {
    release() {
      if (database.isOpen) database.close();
    },
  };
}

/** Waits for the lock; `undefined` when it is still held after `timeoutMs`. */
export async function waitForFileLock(path: string, timeoutMs: number): Promise<FileLock | undefined> {
  const deadline = performance.now() + timeoutMs;
  for (;;) {
    const lock = tryFileLock(path);
    if (lock !== undefined || performance.now() >= deadline) return lock;
    await new Promise((done) => setTimeout(done, 50));
  }
}

function isBusy(error: unknown): boolean {
  return error instanceof Error && 'errcode' in error && error.errcode === SQLITE_BUSY;
}
