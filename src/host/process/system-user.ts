// The users that services run as if the daemon runs as root. Each service has its own, so that none reaches the files
// of another: it is created if it is missing (useradd, or BusyBox's adduser). If it cannot be created (a read-only or
// minimal system), the service runs as `nobody`, which other services can share; `imago doctor` reports that.
import { spawnSync } from 'node:child_process';
import { readFileSync, statSync } from 'node:fs';
import type { ErrorCode } from '../../domain/error/catalog.ts';
import { ImagoError } from '../../domain/error/imago-error.ts';

/** The user and group that a process runs as. */
export interface ProcessIds {
  readonly uid: number;
  readonly gid: number;
}

export interface SystemUser extends ProcessIds {
  readonly name: string;
}

export interface UserDirectory {
  find(name: string): SystemUser | undefined;
  /** Tries to create a system user; `find` shows whether that worked. */
  make(name: string): void;
  ownerOf(path: string): ProcessIds | undefined;
}

export interface Service {
  /** The service's own user. */
  readonly user: string;
  /** The environment variable that names another user. */
  readonly variable: string;
  /** The error if there is no user that the service can run as. */
  readonly code: ErrorCode;
}

const FALLBACK_USER = 'nobody';

/** Returns the user that a service of root runs as, which is never root. Creates the service's own user if it is missing. */
export function chooseServiceUser(
  { user, variable, code }: Service,
  env: Readonly<Record<string, string | undefined>>,
  users: UserDirectory = systemUsers,
): SystemUser {
  const asked = env[variable];
  if (asked) {
    const found = users.find(asked);
    if (found !== undefined && found.uid !== 0) return found;
    throw new ImagoError(
      code,
      `${variable} names ${asked}, which is ${found === undefined ? 'not a user of this host' : 'root'}.`,
    );
  }
  if (users.find(user) === undefined) users.make(user);
  for (const name of [user, FALLBACK_USER]) {
    const found = users.find(name);
    if (found !== undefined && found.uid !== 0) return found;
  }
  throw new ImagoError(code, `This host has neither a user \`${user}\` nor \`${FALLBACK_USER}\`.`);
}

export const systemUsers: UserDirectory = {
  find(name) {
    const listed = findInPasswd(name);
    if (listed !== undefined) return listed;
    const [uid, gid] = [idOf('-u', name), idOf('-g', name)];
    return uid === undefined || gid === undefined ? undefined : { name, uid, gid };
  },
  make(name) {
    const useradd = ['--system', '--user-group', '--no-create-home', '--home-dir', '/nonexistent'];
    const made = spawnSync('useradd', [...useradd, '--shell', '/usr/sbin/nologin', name], {
      stdio: 'ignore',
    });
    if (made.status === 0) return;
    spawnSync('adduser', ['-S', '-D', '-H', '-h', '/nonexistent', '-s', '/sbin/nologin', name], {
      stdio: 'ignore',
    });
  },
  ownerOf(path) {
    const stats = statSync(path, { throwIfNoEntry: false });
    return stats === undefined ? undefined : { uid: stats.uid, gid: stats.gid };
  },
};

function findInPasswd(name: string): SystemUser | undefined {
  let passwd: string;
  try {
    passwd = readFileSync('/etc/passwd', 'utf8');
  } catch {
    return undefined;
  }
  const fields = passwd
    .split('\n')
    .map((line) => line.split(':'))
    .find(([listed]) => listed === name);
  const [uid, gid] = [Number(fields?.[2]), Number(fields?.[3])];
  return Number.isInteger(uid) && Number.isInteger(gid) ? { name, uid, gid } : undefined;
}

/** Users may also come from a directory service, which only the system's own tools ask. */
function idOf(flag: '-u' | '-g', name: string): number | undefined {
  const { status, stdout } = spawnSync('id', [flag, '--', name], { encoding: 'utf8' });
  return status === 0 ? Number(stdout) : undefined;
}
