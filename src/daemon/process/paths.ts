// Makes the folders that src/launcher/paths.ts describes, and refuses those that others could tamper with.
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

/** The kernel's limit on the path of a Unix socket, without the closing zero byte. */
const MAX_SOCKET_PATH = 107;
const PROBE_BYTES = 4096;
const API_SOCKET = 'api.sock';
export const POSTGRES_PORT = 5432;
const POSTGRES_SOCKET = `.s.PGSQL.${POSTGRES_PORT}`;

export interface RuntimePaths {
  /** 0700, the daemon's. */
  readonly apiFolder: string;
  readonly apiSocket: string;
  /** 0700, of the user that PostgreSQL runs as. */
  readonly postgresFolder: string;
  /** 0700, or 0711 if the daemon is root, the daemon's: sockets of machines, which outlive the daemon. */
  readonly machineFolder: string;
}

/**
 * Makes the state folder with what the daemon writes in it, and answers with its real path. What exists is kept.
 * `prove`: refuse one that cannot be written to, which a daemon that begins again would rather wait for.
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
 * Where the sockets of this state folder go. Root's stand in /run, which every user may pass through, as
 * PostgreSQL's user must; the others' in their own runtime folder, if the system gave them one.
 */
export function runtimePaths(home: string, { env, uid }: ProcessEnvironment): RuntimePaths {
  const name = `imago-${createHash('sha256').update(home).digest('hex').slice(0, 16)}`;
  const own = [env.XDG_RUNTIME_DIR, `/run/user/${uid}`].filter((folder) => isOwnFolder(folder, uid));
  const candidates = uid === 0 ? ['/run', '/tmp'] : [...own, '/tmp'];
  const base = candidates.find((folder) => folder !== undefined && fits(folder, name)) ?? '/tmp';
  return runtimePathsOf(join(base, name, API_SOCKET));
}

/** The folders that go with an API socket. */
export function runtimePathsOf(apiSocket: string): RuntimePaths {
  const apiFolder = dirname(apiSocket);
  return { apiFolder, apiSocket, postgresFolder: `${apiFolder}-pg`, machineFolder: `${apiFolder}-vm` };
}

/** Takes away what is ours in them, and the folders when nothing else is. Missing ones are passed over. */
export function removeRuntimeFolders(paths: RuntimePaths): void {
  const { apiFolder, apiSocket, postgresFolder, machineFolder } = paths;
  const postgresSocket = join(postgresFolder, POSTGRES_SOCKET);
  for (const file of [apiSocket, postgresSocket, `${postgresSocket}.lock`]) rmSync(file, { force: true });
  for (const folder of [apiFolder, postgresFolder, machineFolder]) {
    try {
      rmdirSync(folder);
    } catch {
      // Not there, or not only ours.
    }
  }
}

/**
 * Makes a folder that only `owner` can enter, or pass through by `mode`. One that exists is used only if it already
 * belongs to them (or to us) and is not a link: in /tmp anybody could have made it to listen in.
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
      `${path} is ${found.isDirectory() ? `a folder of user ${found.uid}` : 'not a folder'}.`,
    );
  }
  if (found.uid !== owner.uid) chownSync(path, owner.uid, owner.gid);
  if ((found.mode & 0o777) !== mode) chmodSync(path, mode);
}

/** What went wrong with a folder, as an error that says what to do; other errors are returned as they are. */
export function explainFolderError(error: unknown, path: string): unknown {
  if (error instanceof ImagoError || !(error instanceof Error) || !('code' in error)) return error;
  if (error.code === 'ENOSPC' || error.code === 'EDQUOT') {
    return new ImagoError('no-space', `There is no space left for ${path}.`, { cause: error });
  }
  const reasons: Readonly<Record<string, string>> = {
    EROFS: 'the file system is read-only',
    EACCES: 'permission is denied',
    EPERM: 'permission is denied',
    ENOTDIR: 'a part of the path is not a folder',
    EEXIST: 'it is not a folder',
    ENOENT: 'a part of the path does not exist',
    ENAMETOOLONG: 'the path is too long',
    ELOOP: 'the path leads in a circle',
  };
  const reason = reasons[String(error.code)];
  if (reason === undefined) return error;
  return new ImagoError('state-folder-unusable', `${path} cannot be used: ${reason}.`, { cause: error });
}

/** On a read-only disk `mkdir` only says that the folder is not there: the one above knows why. */
function makeFolder(path: string): void {
  try {
    mkdirSync(path, { recursive: true, mode: 0o700 });
  } catch (error) {
    if (isCode(error, 'ENOENT')) accessSync(nearestExisting(path), constants.W_OK);
    throw error;
  }
}

/** The folder itself, or the nearest one above that is there. */
export function nearestExisting(path: string): string {
  return existsSync(path) || dirname(path) === path ? path : nearestExisting(dirname(path));
}

function refuseForeignFolder(path: string, stats: Stats, uid: number): void {
  const trusted = stats.uid === uid || stats.uid === 0;
  const openToAll = (stats.mode & 0o002) !== 0;
  if (trusted && !openToAll) return;
  throw new ImagoError(
    'state-folder-foreign',
    trusted ? `Every user may write to ${path}.` : `${path} belongs to user ${stats.uid}.`,
    trusted ? { hint: `Close it with \`chmod o-w\`, or point IMAGO_HOME at another folder.` } : {},
  );
}

/** Writes and syncs a little, because a full or read-only disk lets folders be made and looked at. */
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

/** PostgreSQL reads its socket folder from a list with commas and quotes: only plain names are safe there. */
function fits(folder: string, name: string): boolean {
  if (!/^[\w./-]+$/.test(folder)) return false;
  if (Buffer.byteLength(join(folder, `${name}-pg`, `${POSTGRES_SOCKET}.lock`)) > MAX_SOCKET_PATH)
    return false;
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
