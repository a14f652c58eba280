// Finds the PostgreSQL server of a data directory by its files and /proc. Deletes the lock files of a killed server whose
// pid another process has, because PostgreSQL would refuse to start.
import { existsSync, readdirSync, readFileSync, readlinkSync, rmSync } from 'node:fs';
import { basename, join } from 'node:path';
import { ImagoError } from '../../domain/error/imago-error.ts';
import { identifyProcess, type ProcessIdentity } from '../../host/process/identity.ts';
import { POSTGRES_PORT } from '../process/paths.ts';

export interface Postmaster {
  readonly process: ProcessIdentity;
  readonly socketFolder: string;
  readonly port: number;
  readonly state: 'starting' | 'ready' | 'stopping';
}

/** Returns the server of this data directory; `undefined` if none is running. `data` must be a real path. */
export function findPostmaster(data: string): Postmaster | undefined {
  const lines = readLines(join(data, 'postmaster.pid'));
  const pid = Number(lines?.[0]);
  if (lines === undefined || !Number.isSafeInteger(pid) || pid <= 1) return undefined;
  const process = identifyProcess(pid);
  if (process === undefined || !isPostgresOn(pid, data)) return undefined;
  const state = lines[7]?.trim();
  return {
    process,
    port: Number(lines[3]) || POSTGRES_PORT,
    socketFolder: lines[4]?.trim() ?? '',
    state: state === 'ready' || state === 'stopping' ? state : 'starting',
  };
}

export function socketOf(postmaster: Pick<Postmaster, 'socketFolder' | 'port'>): string {
  return join(postmaster.socketFolder, `.s.PGSQL.${postmaster.port}`);
}

/** Returns every process of a server on this data directory, including those that outlive a killed postmaster. */
export function processesOn(data: string): readonly number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => isPostgresOn(pid, data));
}

/**
 * Deletes the lock files of a dead server whose pid another process has. Leaves files to PostgreSQL if their pid does not
 * exist, or is of a server on this directory that is still exiting. Throws `postgres-foreign` if a running server on
 * another directory holds the socket.
 */
export function clearStaleLocks(data: string, socketFolder: string): void {
  const socket = socketOf({ socketFolder, port: POSTGRES_PORT });
  const holder = pidIn(`${socket}.lock`);
  if (holder !== undefined && isPostgres(holder) && !isPostgresOn(holder, data)) {
    throw new ImagoError('postgres-foreign', `Another PostgreSQL (process ${holder}) holds ${socket}.`, {
      hint: 'Stop that server, or set IMAGO_HOME to another directory.',
    });
  }
  for (const file of [join(data, 'postmaster.pid'), `${socket}.lock`]) {
    const pid = pidIn(file);
    if (pid === undefined || identifyProcess(pid) === undefined || isPostgresOn(pid, data)) continue;
    if (processesOn(data).length === 0) rmSync(file, { force: true });
  }
}

function isPostgresOn(pid: number, data: string): boolean {
  return isPostgres(pid) && link(`/proc/${pid}/cwd`) === data;
}

function isPostgres(pid: number): boolean {
  // A binary that npm replaced is shown as "… (deleted)".
  const program = link(`/proc/${pid}/exe`)?.replace(/ \(deleted\)$/, '');
  return program !== undefined && basename(program) === 'postgres';
}

function pidIn(path: string): number | undefined {
  const pid = Number(readLines(path)?.[0]);
  return Number.isSafeInteger(pid) && pid > 1 ? pid : undefined;
}

function readLines(path: string): readonly string[] | undefined {
  if (!existsSync(path)) return undefined;
  try {
    return readFileSync(path, 'utf8').split('\n');
  } catch {
    return undefined;
  }
}

function link(path: string): string | undefined {
  try {
    return readlinkSync(path);
  } catch {
    return undefined;
  }
}
