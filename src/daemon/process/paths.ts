// Creates the directories that src/launcher/paths.ts describes, and refuses those that other users can modify.
import { createHash } from 'node:crypto';
import {
  accessSync,
  chmodSync,
  chownSync,
  closeSync,
  constants,
  existsSync,
  fsyncSync,
  lstatSync,
  mkdirSync,
  openSync,
  realpathSync,
  rmdirSync,
  rmSync,
  type Stats,
  statSync,
  writeSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { ImagoError } from '../../domain/error/imago-error.ts';
import { type ProcessEnvironment, type StatePaths, statePaths } from '../../launcher/paths.ts';

/** Maximum length of the path of a Unix socket, without the final zero byte. */
const maxSocketPath = 107;
const PROBE_BYTES = 4096;
const API_SOCKET = 'api.sock';
export const POSTGRES_PORT = 5432;
const POSTGRES_SOCKET = `.s.PGSQL.${POSTGRES_PORT}`;

export interface RuntimePaths {
  /** 0700, owned by the daemon's user. */
  readonly apiFolder: string;
  readonly apiSocket: string;
  /** 0700, owned by the PostgreSQL user. */
  readonly postgresFolder: string;
  /** 0700, or 0711 if the daemon runs as root: sockets of machines, which outlive the daemon. */
  readonly machineFolder: string;
}

/**
 * Creates the state directory, and returns its paths. Keeps what exists. With `prove`, refuses a directory that is not
 * writable; a daemon that restarts waits for it instead.
 */
export function prepareStateFolder(home: string, { uid }: ProcessEnvironment, prove = true): StatePaths {
  try {
    makeFolder(home);
    const paths = statePaths(realpathSync(home));
    refuseForeignFolder(paths.home, statSync(paths.home), uid);
    makeFolder(paths.logs);
    makeFolder(paths.postgres);
    if (prove) proveWritable(paths.home);
    return paths;
  } catch (error) {
    throw explainFolderError(error, home);
  }
}

/**
 * Returns the directories of the sockets. For root they are in /run, which the PostgreSQL user can enter; for other users
 * in their runtime directory, if the system has one.
 */
export function runtimePaths(home: string, { env, uid }: ProcessEnvironment): RuntimePaths {
  const name = `imago-${createHash('sha256').update(home).digest('hex').slice(0, 16)}`;
  const own = [env.XDG_RUNTIME_DIR, `/run/user/${uid}`].filter((folder) => isOwnFolder(folder, uid));
  const candidates = uid === 0 ? ['/run', '/tmp'] : [...own, '/tmp'];
  const base = candidates.find((folder) => folder !== undefined && fits(folder, name)) ?? '/tmp';
  return runtimePathsOf(join(base, name, API_SOCKET));
}

/** Returns the directories that belong to an API socket. */
export function runtimePathsOf(apiSocket: string): RuntimePaths {
  const apiFolder = dirname(apiSocket);
  return { apiFolder, apiSocket, postgresFolder: `${apiFolder}-pg`, machineFolder: `${apiFolder}-vm` };
}

/** Deletes the sockets, and the directories if they are empty. Ignores missing ones. */
export function removeRuntimeFolders(paths: RuntimePaths): void {
  const { apiFolder, apiSocket, postgresFolder, machineFolder } = paths;
  const postgresSocket = join(postgresFolder, POSTGRES_SOCKET);
  for (const file of [apiSocket, postgresSocket, `${postgresSocket}.lock`]) rmSync(file, { force: true });
  for (const folder of [apiFolder, postgresFolder, machineFolder]) {
    try {
      rmdirSync(folder);
    } catch {
      // It does not exist, or is not empty.
    }
  }
}

/**
 * Creates a directory that only `owner` can enter. Uses an existing one only if it belongs to them or to this user and is
 * not a link: in /tmp, any user can create it to intercept connections.
 */
export function secureFolder(
  path: string,
  owner: { readonly uid: number; readonly gid: number },
  mode: 0o700 | 0o711 = 0o700,
): void {
  try {
    mkdirSync(path, { mode: 0o700 });
  } catch (error) {
    if (!isCode(error, 'EEXIST')) throw explainFolderError(error, path);
  }
  const found = lstatSync(path);
  const self = process.getuid?.() ?? owner.uid;
  if (!found.isDirectory() || (found.uid !== owner.uid && found.uid !== self)) {
    throw new ImagoError(
      'runtime-folder-foreign',
      `${path} is ${found.isDirectory() ? `a directory of user ${found.uid}` : 'not a directory'}.`,
    );
  }
  if (found.uid !== owner.uid) chownSync(path, owner.uid, owner.gid);
  if ((found.mode & 0o777) !== mode) chmodSync(path, mode);
}

/** Converts a file system error to one with a hint. Returns other errors unchanged. */
export function explainFolderError(error: unknown, path: string): unknown {
  if (error instanceof ImagoError || !(error instanceof Error) || !('code' in error)) return error;
  if (error.code === 'ENOSPC' || error.code === 'EDQUOT') {
    return new ImagoError('no-space', `There is no space left for ${path}.`, { cause: error });
  }
  const reasons: Readonly<Record<string, string>> = {
    EROFS: 'the file system is read-only',
    EACCES: 'permission is denied',
    EPERM: 'permission is denied',
    ENOTDIR: 'a part of the path is not a directory',
    EEXIST: 'it is not a directory',
    ENOENT: 'a part of the path does not exist',
    ENAMETOOLONG: 'the path is too long',
    ELOOP: 'the path has a loop of links',
  };
  const reason = reasons[String(error.code)];
  if (reason === undefined) return error;
  return new ImagoError('state-folder-unusable', `${path} cannot be used: ${reason}.`, { cause: error });
}

/** On a read-only disk `mkdir` only reports that the directory does not exist; its parent gives the reason. */
function makeFolder(path: string): void {
  try {
    mkdirSync(path, { recursive: true, mode: 0o700 });
  } catch (error) {
    if (isCode(error, 'ENOENT')) accessSync(nearestExisting(path), constants.W_OK);
    throw error;
  }
}

/** Returns the directory, or its nearest parent that exists. */
export function nearestExisting(path: string): string {
  return existsSync(path) || dirname(path) === path ? path : nearestExisting(dirname(path));
}

function refuseForeignFolder(path: string, stats: Stats, uid: number): void {
  const trusted = stats.uid === uid || stats.uid === 0;
  const openToAll = (stats.mode & 0o002) !== 0;
  if (trusted && !openToAll) return;
  throw new ImagoError(
    'state-folder-foreign',
    trusted ? `Every user can write to ${path}.` : `${path} belongs to user ${stats.uid}.`,
    trusted ? { hint: `Close it with \`chmod o-w\`, or set IMAGO_HOME to another directory.` } : {},
  );
}

/** Writes and syncs a few bytes: directories can be created even on a full disk. */
function proveWritable(home: string): void {
  const probe = join(home, '.probe');
  const file = openSync(probe, 'w', 0o600);
  try {
    writeSync(file, Buffer.alloc(PROBE_BYTES));
    fsyncSync(file);
  } finally {
    closeSync(file);
    rmSync(probe, { force: true });
  }
}

function isOwnFolder(path: string | undefined, uid: number): boolean {
  if (!path?.startsWith('/')) return false;
  const stats = statSync(path, { throwIfNoEntry: false });
  return stats?.isDirectory() === true && stats.uid === uid && (stats.mode & 0o022) === 0;
}

/** PostgreSQL parses its socket directory as a list with commas and quotes, so only plain names are safe. */
function fits(folder: string, name: string): boolean {
  if (!/^[\w./-]+$/.test(folder)) return false;
  if (Buffer.byteLength(join(folder, `${name}-pg`, `${POSTGRES_SOCKET}.lock`)) > maxSocketPath) return false;
  try {
    accessSync(folder, constants.W_OK | constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

function isCode(error: unknown, code: string): boolean {
  return error instanceof Error && 'code' in error && error.code === code;
}
