// The user that PostgreSQL runs as when the daemon runs as root, which PostgreSQL refuses to do itself.
//
// The owner of an existing database folder stays its user for ever. Otherwise it is the system user `imago`,
// which is made when missing (useradd, or BusyBox's adduser), so that no other service can read the
// database. Where no user can be made (a read-only or minimal system) it is `nobody`, which other services
// may share; `imago doctor` then says so. IMAGO_POSTGRES_USER names another user.
import { spawnSync } from 'node:child_process';
import { readFileSync, statSync } from 'node:fs';
import { ImagoError } from '../../domain/error/imago-error.ts';
import type { Surroundings } from '../../launcher/paths.ts';

export interface SystemUser {
  readonly name: string;
  readonly uid: number;
  readonly gid: number;
}

export interface UserDirectory {
  find(name: string): SystemUser | undefined;
  /** Tries to make a system user; whether it worked is for `find` to say. */
  make(name: string): void;
  ownerOf(path: string): { readonly uid: number; readonly gid: number } | undefined;
}

const OWN_USER = 'imago';
const FALLBACK_USER = 'nobody';

/** `undefined`: PostgreSQL runs as the daemon's own user, which is not root. */
export function choosePostgresUser(
  { env, uid }: Surroundings,
  dataFolder: string,
  users: UserDirectory = systemUsers,
): SystemUser | undefined {
  if (uid !== 0) return undefined;
  const owner = users.ownerOf(dataFolder);
  if (owner !== undefined && owner.uid !== 0) return { name: `#${owner.uid}`, ...owner };

  const asked = env.IMAGO_POSTGRES_USER;
  if (asked) {
    const found = users.find(asked);
    if (found !== undefined && found.uid !== 0) return found;
    throw new ImagoError(
      'postgres-user',
      `IMAGO_POSTGRES_USER names ${asked}, which is ${found === undefined ? 'no user of this machine' : 'root'}.`,
    );
  }
  if (users.find(OWN_USER) === undefined) users.make(OWN_USER);
  for (const name of [OWN_USER, FALLBACK_USER]) {
    const found = users.find(name);
    if (found !== undefined && found.uid !== 0) return found;
  }
  throw new ImagoError('postgres-user', 'This machine has neither a user `imago` nor `nobody`.');
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
