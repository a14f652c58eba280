// daemon.json in the state folder: how clients find the running daemon, and whom `imago down` may stop when
// the daemon no longer answers.
import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import type { Settings } from '../domain/settings/settings.ts';
import { isProcessIdentity, type ProcessIdentity } from '../host/process/identity.ts';

const SIZE = 4096;

export interface DaemonFile {
  readonly process: ProcessIdentity;
  readonly version: string;
  /** The API's Unix socket. */
  readonly socket: string;
  /** `false` while it starts, or starts again after its database was gone: wait for it. */
  readonly ready: boolean;
  /** The embedded PostgreSQL; absent when another one is used or none was started yet. */
  readonly postgres?: ProcessIdentity;
  readonly startedAt: string;
  /** The settings that it uses. */
  readonly settings: Settings;
}

/** What the file says; `undefined` when there is none or it cannot be understood (then nothing can be trusted). */
export function readDaemonFile(path: string): DaemonFile | undefined {
  let value: unknown;
  try {
    value = JSON.parse(readFileSync(path, 'utf8'));
  } catch {
    return undefined;
  }
  return isDaemonFile(value) ? value : undefined;
}

/**
 * Readers see the old file or the new one, never half of it. On a full disk there is no room for a new one:
 * then the old one, which is always of the same size, is overwritten.
 */
export function writeDaemonFile(path: string, content: DaemonFile): void {
  const text = `${JSON.stringify(content, null, 2)}\n`.padEnd(SIZE);
  const fresh = `${path}.new`;
  try {
    writeFileSync(fresh, text, { mode: 0o600 });
    renameSync(fresh, path);
  } catch (error) {
    rmSync(fresh, { force: true });
    if (!(error instanceof Error && 'code' in error && error.code === 'ENOSPC')) throw error;
    writeFileSync(path, text, { flag: 'r+' });
  }
}

/** Deletes the file, unless it already names another process. */
export function removeDaemonFile(path: string, owner: ProcessIdentity): void {
  const found = readDaemonFile(path);
  if (found !== undefined && found.process.pid !== owner.pid) return;
  rmSync(path, { force: true });
}

function isDaemonFile(value: unknown): value is DaemonFile {
  if (typeof value !== 'object' || value === null) return false;
  const file = value as Record<string, unknown>;
  return (
    isProcessIdentity(file.process) &&
    typeof file.version === 'string' &&
    typeof file.socket === 'string' &&
    typeof file.ready === 'boolean' &&
    typeof file.startedAt === 'string' &&
    typeof file.settings === 'object' &&
    file.settings !== null &&
    (file.postgres === undefined || isProcessIdentity(file.postgres))
  );
}
